"""Gate decisions: only new failures block, and what did not finish is neither pass nor failure."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workflows.domain.gate import GateReport, GateResult
from workflows.domain.ids import Tree
from workflows.policy.review.gate_comparison import (
    MAX_NAMED,
    MAX_NOTES,
    base_notices,
    is_green,
    judge_gates,
    merge_rerun,
    needs_rerun,
    pipe_fault,
)


def a_report(*results: GateResult, tree: str = "t") -> GateReport:
    return GateReport(tree=Tree(tree), results=results)


def passed(gate: str = "tests", **facts: object) -> GateResult:
    return GateResult(gate=gate, result="passed", exit_code=0).model_copy(update=facts)


def failed(*names: str, gate: str = "tests", exit_code: int = 1, **facts: object) -> GateResult:
    result = GateResult(gate=gate, result="failed", exit_code=exit_code, failures=names)
    return result.model_copy(update=facts)


def unfinished(reason: str = "time-out after 2 s", gate: str = "tests") -> GateResult:
    return GateResult(gate=gate, result="did_not_finish", exit_code=-9, reason=reason)


@pytest.mark.parametrize(
    ("base", "now", "new", "known"),
    [
        (passed(), passed(), (), ()),
        (failed("a"), passed(), (), ()),
        (unfinished(), passed(), (), ()),
        (None, failed("a"), ("tests: a",), ()),
        (None, failed(), ("tests",), ()),
        (passed(), failed("a", "b"), ("tests: a", "tests: b"), ()),
        (passed(), failed(), ("tests",), ()),
        (failed("a"), failed("a"), (), ("tests: a",)),
        (failed("a", "c"), failed("a", "b"), ("tests: b",), ("tests: a",)),
        (failed(), failed(), (), ("tests",)),
        (failed(), failed("a"), ("tests: a",), ()),
        (failed("a"), failed(), ("tests",), ()),
        (unfinished(), failed("a"), ("tests: a",), ()),
    ],
)
def test_only_what_the_base_did_not_have_blocks(
    base: GateResult | None, now: GateResult, new: tuple[str, ...], known: tuple[str, ...]
):
    decision = judge_gates(a_report(base) if base else None, a_report(now))
    assert decision.new_failures == new
    assert decision.known_failures == known
    assert decision.passes is (not new)
    assert decision.unfinished == ()


@pytest.mark.parametrize("base", [None, passed(), failed("a"), failed()])
def test_what_did_not_finish_blocks_and_is_not_called_a_failure(base: GateResult | None):
    """Field report R17."""
    decision = judge_gates(a_report(base) if base else None, a_report(unfinished()))
    assert not decision.passes
    assert decision.unfinished == ("tests",)
    assert decision.new_failures == ()
    assert "did not finish: time-out after 2 s" in decision.notes
    assert "fail" not in decision.notes


def test_what_did_not_finish_on_the_base_either_does_not_block():
    """Field report R17."""
    decision = judge_gates(a_report(unfinished()), a_report(unfinished("killed by signal 9")))
    assert decision.passes
    assert decision.unfinished == ("tests",)
    assert "did not finish: killed by signal 9, as on the base" in decision.notes


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (unfinished(), "does not finish on the base (time-out after 2 s): as long as it does not,"),
        (unfinished(reason=""), "does not finish on the base (reason unknown)"),
        (failed(), "fails on the base, and names no tests: as long as it does, it blocks nothing"),
        (failed("a", "b"), "fails on the base already (failures: 2): only new failures count"),
        (failed(*map(str, range(MAX_NAMED))), f"(failures: {MAX_NAMED} or more)"),
    ],
)
def test_a_gate_that_is_not_green_on_the_base_is_told(result: GateResult, words: str):
    report = a_report(passed("lint"), result)
    (told,) = base_notices(report)
    assert told.startswith("gate 'tests' ")
    assert words in told
    assert not is_green(report)


def test_a_green_base_needs_no_words():
    assert is_green(a_report(passed(), passed("lint")))
    assert base_notices(a_report(passed(), passed("lint"))) == ()


def test_an_unnamed_reason_is_said_to_be_unknown():
    assert "reason unknown" in judge_gates(None, a_report(unfinished(""))).notes


def test_a_gate_that_did_not_run_blocks():
    decision = judge_gates(a_report(passed(), passed("lint")), a_report(passed()))
    assert not decision.passes
    assert decision.unfinished == ("lint",)
    assert "'lint' did not run" in decision.notes


def test_without_gates_work_passes():
    assert judge_gates(a_report(), a_report()).passes


def test_what_lies_behind_a_cut_list_is_not_called_new():
    base = failed(*(f"t{n:03}" for n in range(MAX_NAMED)))
    decision = judge_gates(a_report(base), a_report(failed("s", "t000", "t999")))
    assert decision.new_failures == ("tests: s",)
    assert decision.known_failures == ("tests: t000", "tests: t999")


def test_notes_tell_what_is_new_and_what_was_there_and_show_the_output():
    base = a_report(failed("old"))
    now = failed("old", "new", exit_code=2, excerpt="E assert 1 == 2")
    notes = judge_gates(base, a_report(now)).notes
    assert "gate 'tests' failed: new; failed on the base already: old" in notes
    assert "with exit code 2 now, 1 on the base" in notes
    assert "E assert 1 == 2" in notes


def test_known_failures_alone_show_no_output():
    report = a_report(failed("old", excerpt="E assert 1 == 2"))
    assert "assert" not in judge_gates(report, report).notes


def test_r49_a_known_failure_of_another_cause_passes_and_is_shown():
    base = a_report(failed("old", excerpt="E assert 1 == 2\nt.py:3: AssertionError\n3 in 0.1s"))
    now = failed("old", excerpt="E KeyError: 'x'\nt.py:9: AssertionError\n4 in 0.2s")
    decision = judge_gates(base, a_report(now))
    assert (decision.passes, decision.known_failures) == (True, ("tests: old",))
    assert decision.remarks == (
        "gate 'tests' failed as on the base; and says what it did not on the base:\nE KeyError: 'x'"
    )
    assert judge_gates(base, base).remarks == ""


@pytest.mark.parametrize("mark", ["… 1 line left out …", "… 9 lines left out …", "[output cut: …]"])
def test_what_a_cut_output_of_the_base_does_not_show_is_not_called_another_cause(mark: str):
    base = a_report(failed("old", excerpt=f"E assert 1 == 2\n{mark}\n3 failed"))
    now = a_report(failed("old", excerpt="E KeyError: 'x'"))
    assert judge_gates(base, now).remarks == ""


def test_long_lists_and_notes_are_cut():
    names = tuple(f"t{n}" for n in range(50))
    results = [failed(*names, gate=f"g{n}", excerpt="x" * 6_000) for n in range(5)]
    notes = judge_gates(None, a_report(*results)).notes
    assert "and 30 more" in notes
    assert len(notes) == MAX_NOTES


def test_files_that_a_gate_changed_are_told():
    decision = judge_gates(None, a_report(passed(changed_files=("VERSION",))))
    assert decision.passes
    assert "gate 'tests' changed tracked files: VERSION" in decision.notes


def test_a_plain_pass_needs_no_note():
    assert judge_gates(a_report(failed("a")), a_report(passed())).notes == ""


# --- reruns --------------------------------------------------------------------------------------


def test_only_gates_with_new_failures_run_again_and_only_once():
    base = a_report(failed("old"), passed("lint"), passed("types"))
    report = a_report(
        failed("old"), failed(gate="lint"), unfinished(gate="types"), failed("x", gate="more")
    )
    assert needs_rerun(base, report) == ("lint", "more")
    again = merge_rerun(report, a_report(failed(gate="lint"), passed("more")))
    assert needs_rerun(base, again) == ()


def test_a_flake_passes_and_is_noted():
    """Field report R49."""
    merged = merge_rerun(a_report(failed("a", "b")), a_report(passed()))
    decision = judge_gates(a_report(passed()), merged)
    assert decision.passes
    assert "flaky: failed once, passed when run again: a, b" in decision.notes


def test_an_unnamed_flake_passes_too():
    merged = merge_rerun(a_report(failed()), a_report(passed()))
    assert judge_gates(None, merged).notes == (
        "gate 'tests' flaky: failed once, passed when run again"
    )


def test_of_two_red_runs_what_both_name_counts():
    merged = merge_rerun(a_report(failed("a", "b")), a_report(failed("b", "c")))
    decision = judge_gates(a_report(passed()), merged)
    assert decision.new_failures == ("tests: b",)
    assert "flaky, failed in one of two runs: a, c" in decision.notes


def test_two_red_runs_with_the_same_names_are_no_flake():
    merged = merge_rerun(a_report(failed("a")), a_report(failed("a")))
    assert merged.results[0].reason == ""


def test_two_red_runs_never_make_a_pass():
    merged = merge_rerun(a_report(failed("a")), a_report(failed("b")))
    assert judge_gates(a_report(passed()), merged).new_failures == ("tests: b",)


def test_a_rerun_that_does_not_finish_leaves_the_first_result():
    merged = merge_rerun(a_report(failed("a")), a_report(unfinished()))
    decision = judge_gates(None, merged)
    assert decision.new_failures == ("tests: a",)
    assert "the rerun did not finish: time-out after 2 s" in decision.notes
    assert needs_rerun(None, merged) == ()


def test_a_run_that_did_not_finish_gives_way_to_the_second():
    assert merge_rerun(a_report(unfinished()), a_report(passed())).results[0].result == "passed"


def test_files_changed_in_either_run_are_kept():
    first = a_report(failed("a", changed_files=("x",)))
    merged = merge_rerun(first, a_report(passed(changed_files=("y",))))
    assert merged.results[0].changed_files == ("x", "y")


def test_a_rerun_of_another_tree_is_refused():
    with pytest.raises(ValueError, match="same tree"):
        merge_rerun(a_report(tree="t1"), a_report(tree="t2"))


results = st.one_of(
    st.just(passed()),
    st.just(unfinished()),
    st.lists(st.sampled_from("abcd"), max_size=3, unique=True).map(lambda n: failed(*sorted(n))),
)


@given(base=results, now=results)
def test_a_decision_blocks_exactly_for_a_reason_that_it_names(base: GateResult, now: GateResult):
    decision = judge_gates(a_report(base), a_report(now))
    excused = base.result == "did_not_finish"
    assert decision.passes is not bool(
        decision.new_failures or (decision.unfinished and not excused)
    )
    assert set(decision.new_failures).isdisjoint(decision.known_failures)


@given(base=results)
def test_an_untouched_tree_passes(base: GateResult):
    assert judge_gates(a_report(base), a_report(base)).passes


# --- gate definitions ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "argv",
    [
        ("sh", "-c", "false | tail -1"),
        ("/bin/bash", "-c", "a && b|c"),
        ("bash", "-lc", "a |& b"),
        ("env", "X=1", "bash", "-ec", "a | b"),
        ("timeout", "10", "sh", "-c", 'echo "x|y" | cat'),
        ("bash", "-c", "set -e; a | b"),
        ("bash", "-c", r"echo \\| cat"),
    ],
)
def test_an_unguarded_pipe_is_warned_of(argv: tuple[str, ...]):
    """Field report R35."""
    fault = pipe_fault(argv)
    assert fault is not None
    assert "pipefail" in fault


@pytest.mark.parametrize(
    "argv",
    [
        ("pytest", "-q", "-k", "a|b"),
        ("sh", "script.sh"),
        ("sh",),
        ("sh", "-c"),
        ("sh", "-c", "a || b"),
        ("sh", "-c", "echo 'a | b'"),
        ("sh", "-c", 'echo "a | \\" | b"'),
        ("sh", "-c", r"echo a \| b"),
        ("sh", "-c", "echo x >| f"),
        ("bash", "-o", "pipefail", "-c", "a | b"),
        ("bash", "-eo", "pipefail", "-c", "a | b"),
        ("bash", "-c", "set -o pipefail; a | b"),
        ("bash", "-c", "set -euo pipefail\na | b"),
        ("bash", "-c", "set -e -o pipefail && a | b"),
    ],
)
def test_other_commands_are_not(argv: tuple[str, ...]):
    assert pipe_fault(argv) is None
