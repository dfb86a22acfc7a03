import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.gates.failing_tests import MAX_FAILURES, MAX_NAME_CHARS, failing_tests
from workflows.domain.gate import GateSpec

PYTEST = GateSpec(name="pytest", argv=("pytest",))
ANY = GateSpec(name="any", argv=("make", "test"))


def summary(*names: str) -> str:
    header = "=========================== short test summary info ============================\n"
    return header + "".join(f"FAILED {name} - boom\n" for name in names)


@pytest.mark.parametrize(
    ("one_run", "another_run"),
    [
        (
            "t.py::a[<object object at 0x7f00aa11bb22>]",
            "t.py::a[<object object at 0x7fdeadbeef00>]",
        ),
        ("t.py::a[2026-11-27T10:00:00.123Z]", "t.py::a[2026-11-28T23:59:59Z]"),
        ("t.py::a[2026-11-27 10:00:00+01:00]", "t.py::a[2026-11-28 09:10:11+01:00]"),
        ("t.py::a[1795779600]", "t.py::a[1795779777]"),
        ("t.py::a[1795779600123]", "t.py::a[1795779777001]"),
        (
            "t.py::a[1b4e28ba-2fa1-11d2-883f-0016d3cca427]",
            "t.py::a[6fa459ea-ee8a-3ca4-894e-db77e160355e]",
        ),
        ("t.py::a[/tmp/pytest-of-me/pytest-7/x]", "t.py::a[/tmp/pytest-of-me/pytest-8/x]"),
        ("t.py::a[/tmp/tmpab12cd_9/x]", "t.py::a[/tmp/tmpzz99yy_1/x]"),
    ],
)
def test_a_name_stays_from_run_to_run(one_run: str, another_run: str):
    first = failing_tests(PYTEST, summary(one_run))
    assert first == failing_tests(PYTEST, summary(another_run))
    assert first[0].startswith("t.py::a[")


@pytest.mark.parametrize("name", ["t.py::a[0x1]", "t.py::a[2026-11-27]", "t.py::a[12345]", "a::b"])
def test_a_stable_name_is_left_alone(name: str):
    assert failing_tests(PYTEST, summary(name)) == (name,)


def test_one_more_of_the_same_kind_is_a_new_name():
    base = failing_tests(PYTEST, summary("t.py::a[0xaaaa1]"))
    work = failing_tests(PYTEST, summary("t.py::a[0xbbbb1]", "t.py::a[0xbbbb2]"))
    assert set(work) - set(base) == {"t.py::a[0x…] #2"}


def test_colours_do_not_hide_a_failure():
    output = summary("t.py::a").replace("FAILED", "\x1b[31mFAILED\x1b[0m").replace("\n", "\r\n")
    assert failing_tests(PYTEST, output) == ("t.py::a",)


def test_a_very_long_name_is_cut_and_still_its_own():
    names = failing_tests(
        PYTEST, summary("t.py::a[" + "x" * 900 + "1]", "t.py::a[" + "x" * 900 + "2]")
    )
    assert len(names) == 2
    assert all(len(name) <= MAX_NAME_CHARS for name in names)


def test_at_most_200_sorted():
    names = failing_tests(PYTEST, summary(*(f"t.py::a{n:04}" for n in reversed(range(500)))))
    assert names == tuple(f"t.py::a{n:04}" for n in range(MAX_FAILURES))


@given(st.lists(st.from_regex(r"t\.py::[a-z]{1,3}(\[0x[0-9a-f]{5}\])?", fullmatch=True)))
def test_the_order_of_the_run_does_not_matter(names: list[str]):
    assert failing_tests(PYTEST, summary(*names)) == failing_tests(PYTEST, summary(*names[::-1]))


@given(st.text() | st.text(alphabet="FAILED :-[](){}=.\n\x1b\r\u203a●✖notk0123456789abc/ \t"))
def test_any_text_is_read_without_a_fault(text: str):
    names = failing_tests(ANY, text)
    assert names == tuple(sorted(set(names)))
