"""The walkthrough leads to functions that exist, and its steps are read as they are written."""

from pathlib import Path

import pytest

from benchmarks.walkthrough import WALKTHROUGH, Step, faults_of, functions_named, steps_of

ROOT = Path(__file__).parents[2]


def test_every_step_of_the_walkthrough_exists():
    page = ROOT / WALKTHROUGH
    if not page.is_file():
        pytest.skip("there is no docs/walkthrough.md yet")
    steps = steps_of(page.read_text("utf-8"))
    assert steps, "no line names a file and a function in it"
    assert faults_of(ROOT, steps) == []


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("`a/b.py` `run`", [("a/b.py", "run")]),
        ("1. `a/b.py`: `C.run` starts it", [("a/b.py", "C.run")]),
        ("`a/b.py` `run()`, `stop` and `C._go`", [("a/b.py", n) for n in ("run", "stop", "C._go")]),
        ("| 1 | `a.py` | `run`, `stop` | sends `ready` |", [("a.py", "run"), ("a.py", "stop")]),
        ("`a.py` `f` → `b.py` `g`", [("a.py", "f"), ("b.py", "g")]),
        ("`a.py` → `b.py` `g`", [("b.py", "g")]),
        ("`a.py` (`f`) calls `g`", [("a.py", "f")]),
        ("`a.py` holds `f`", []),
        ("`f` in `a.py`", []),
        ("`a.md` `f`", []),
    ],
)  # fmt: skip
def test_a_step_is_a_path_and_the_functions_right_behind_it(
    line: str, found: list[tuple[str, str]]
):
    assert [(step.path, step.function) for step in steps_of(line)] == found


def test_a_function_does_not_follow_its_path_on_another_line():
    assert steps_of("`a.py`\n`f`\n\n`b.py` `g`") == (Step("b.py", "g", 4),)


def test_a_step_that_does_not_exist_is_reported_with_its_line(tmp_path: Path):
    (tmp_path / "a.py").write_text("class C:\n    def run(self):\n        return 1\n")
    steps = steps_of("`a.py` `C.run`\n`a.py` `run`, `C`\n`gone.py` `run`")
    assert faults_of(tmp_path, steps) == [
        "line 2: a.py has no function 'run'",
        "line 2: a.py has no function 'C'",
        "line 3: there is no file 'gone.py'",
    ]


def test_a_function_that_is_named_twice_is_found_once(tmp_path: Path):
    (tmp_path / "a.py").write_text("def f():\n    return 1\n\n\ndef g():\n    return 2\n")
    found = functions_named(tmp_path, steps_of("`a.py` `g`\n`a.py` `f`\n`a.py` `g`"))
    assert [(each.name, each.length) for each in found] == [("f", 2), ("g", 2)]
