"""The arithmetic of the benchmarks: what a list scheduler could do, and whose processor time."""

import os
import subprocess
import sys
from xml.etree import ElementTree as ET

import pytest

from benchmarks import growth, processor
from benchmarks.bound import Length, chains, list_schedule

ONE = Length(develop=2.0, validate=1.0)


def test_a_chain_takes_the_sum_of_its_tasks():
    lengths = dict.fromkeys("abc", ONE)
    needs = {"a": (), "b": ("a",), "c": ("b",)}
    assert list_schedule(lengths, needs, slots=4) == 9.0
    assert chains(lengths, needs) == {"a": 9.0, "b": 6.0, "c": 3.0}


def test_slots_bound_the_development_and_not_what_follows():
    lengths = dict.fromkeys("abcd", ONE)
    needs: dict[str, tuple[str, ...]] = dict.fromkeys("abcd", ())
    assert list_schedule(lengths, needs, slots=4) == 3.0
    assert list_schedule(lengths, needs, slots=2) == 5.0
    assert list_schedule(lengths, needs, slots=1) == 9.0


def test_the_longest_chain_goes_first():
    lengths = dict.fromkeys(("a", "b", "long"), Length(1.0, 0.0)) | {"end": Length(5.0, 0.0)}
    needs = {"a": (), "b": (), "long": (), "end": ("long",)}
    assert list_schedule(lengths, needs, slots=1) == 8.0
    assert list_schedule(lengths, needs, slots=2) == 6.0


def test_a_cycle_is_refused():
    with pytest.raises(ValueError, match="depend on each other"):
        list_schedule({"a": ONE, "b": ONE}, {"a": ("b",), "b": ("a",)}, slots=1)


def test_a_plot_has_a_panel_for_each_figure_and_a_point_for_each_size():
    figures = {"tasks": [10, 100, 1_000], "seconds_per_task": [2.0, 1.0, 0.0], "cpu": [1, 1, 1]}
    drawn = ET.fromstring(growth.plot(figures))
    svg = "{http://www.w3.org/2000/svg}"
    assert len(drawn.findall(f"{svg}g")) == 2
    first = drawn.findall(f"{svg}g")[0].findall(f"{svg}circle")
    assert [float(each.attrib["cx"]) for each in first] == [34.0, 120.0, 206.0]
    assert float(first[0].attrib["cy"]) < float(first[2].attrib["cy"])


def test_processor_time_counts_what_a_child_used_and_not_ourselves():
    work = "import sys\nfor _ in range(3_000_000): pass\nprint(flush=True)\nsys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", work], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        assert processor.below(os.getpid()) > 0
        assert processor.below(child.pid) == 0
        assert processor.of(sys.executable, work) > 0
        assert processor.peak_mb(sys.executable, work) > 1
        assert processor.of(sys.executable, "no such argument") == 0
        child.communicate()
