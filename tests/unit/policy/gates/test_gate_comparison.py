"""Gate decisions: only new failures block, and what did not finish is neither pass nor failure."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.policy.gates.results import a_report, failed, passed, unfinished
from workflows.domain.gate import GateResult, Judgement, TestCounts
from workflows.policy.gates.gate_comparison import (
    MAX_NAMED,
    MAX_NOTES,
    judge_gates,
    merge_rerun,
    needs_rerun,
)

NAMELESS = "tests: failed as on the base, naming no tests"


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
def test_only_new_failures_block(
    base: GateResult | None, now: GateResult, new: tuple[str, ...], known: tuple[str, ...]
):
    decision = judge_gates(a_report(base) if base else None, a_report(now))
    assert decision.new_failures == new
    assert decision.known_failures == known
    assert decision.passes is (not new)
    assert decision.judgement.nothing == ((NAMELESS,) if known == ("tests",) else ())
    assert decision.judgement.by == (("tests",) if decision.passes and known != ("tests",) else ())


@pytest.mark.parametrize("base", [None, passed(), failed("a"), failed()])
def test_a_gate_that_judged_nothing_blocks_and_is_not_a_failure(base: GateResult | None):
    """Field report R17."""
    decision = judge_gates(a_report(base) if base else None, a_report(unfinished()))
    assert not decision.passes
    assert decision.judgement == Judgement(nothing=("tests: timed out (time-out after 2 s)",))
    assert decision.new_failures == ()
    assert "judged nothing: timed out (time-out after 2 s)" in decision.notes
    assert "fail" not in decision.notes


def test_a_gate_that_judged_nothing_on_the_base_does_not_block():
    """Field report R17."""
    decision = judge_gates(a_report(unfinished()), a_report(unfinished("time-out after 3 s")))
    assert decision.passes
    assert decision.judgement == Judgement(nothing=("tests: timed out (time-out after 3 s)",))
    assert "timed out (time-out after 3 s), as on the base" in decision.notes


def test_a_gate_that_did_not_run_blocks():
    decision = judge_gates(a_report(passed(), passed("lint")), a_report(passed()))
    assert not decision.passes
    assert decision.judgement == Judgement(by=("tests",), nothing=("lint: did not run",))
    assert "'lint' did not run" in decision.notes


def test_without_gates_work_passes_and_nothing_judged_it():
    decision = judge_gates(a_report(), a_report())
    assert decision.passes
    assert decision.judgement == Judgement()


CUT = "stopping after 1 failures"


def test_a_base_that_was_cut_short_excuses_only_named_failures():
    """Field report G31."""
    base = a_report(failed("a", cut_short=CUT))
    decision = judge_gates(base, a_report(failed("a", "b")))
    assert decision.new_failures == ("tests: b",)
    whole = judge_gates(base, a_report(failed("a")))
    assert whole.passes
    assert whole.judgement == Judgement(by=("tests",))


def test_work_that_is_cut_short_as_the_base_was_is_not_judged():
    """Field report G31: a module that cannot be imported hides what the change breaks."""
    base = a_report(failed("a", cut_short=CUT))
    decision = judge_gates(base, base)
    assert decision.passes
    assert decision.judgement == Judgement(nothing=(f"tests: cut short ({CUT})",))


def test_work_that_is_cut_short_where_the_base_ran_to_its_end_is_refused():
    now = failed("a", cut_short=CUT, missing=("b", "c"))
    decision = judge_gates(a_report(failed("a")), a_report(now))
    assert not decision.passes
    assert decision.new_failures == ()
    assert "cut short (stopping after 1 failures); these ran on the base: b, c" in decision.notes


def test_a_pass_without_the_closing_line_that_the_base_had_is_refused():
    """Field report G33: `os._exit(0)` in what the tests load."""
    base = a_report(passed(tests=TestCounts(passed=3)))
    decision = judge_gates(base, a_report(passed()))
    assert not decision.passes
    assert decision.judgement.by == ()
    assert "stopped before its end (exit code 0, without the closing line" in decision.notes


@pytest.mark.parametrize("base", [passed(), unfinished(), failed("a"), failed()])
def test_a_pass_without_a_closing_line_is_one_where_the_base_had_none(base: GateResult):
    decision = judge_gates(a_report(base), a_report(passed()))
    assert decision.judgement == Judgement(by=("tests",))


def test_names_after_the_end_of_a_full_list_are_not_new():
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


def test_files_that_a_gate_changed_are_reported():
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


def test_failures_of_both_runs_count():
    merged = merge_rerun(a_report(failed("a", "b")), a_report(failed("b", "c")))
    decision = judge_gates(a_report(passed()), merged)
    assert decision.new_failures == ("tests: b",)
    assert "flaky, failed in one of two runs: a, c" in decision.notes


def test_two_failed_runs_with_the_same_names_are_not_flaky():
    merged = merge_rerun(a_report(failed("a")), a_report(failed("a")))
    assert merged.results[0].reason == ""


def test_two_red_runs_never_make_a_pass():
    merged = merge_rerun(a_report(failed("a")), a_report(failed("b")))
    assert judge_gates(a_report(passed()), merged).new_failures == ("tests: b",)


def test_a_rerun_that_does_not_finish_leaves_the_first_result():
    merged = merge_rerun(a_report(failed("a")), a_report(unfinished()))
    decision = judge_gates(None, merged)
    assert decision.new_failures == ("tests: a",)
    assert "the rerun judged nothing: timed out (time-out after 2 s)" in decision.notes
    assert needs_rerun(None, merged) == ()


def test_a_run_that_judged_nothing_gives_way_to_the_second():
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
    excused = base.result == "judged_nothing" or decision.known_failures == ("tests",)
    assert decision.passes is not bool(
        decision.new_failures or (decision.judgement.nothing and not excused)
    )
    assert set(decision.new_failures).isdisjoint(decision.known_failures)
    judged = (*decision.judgement.by, *decision.judgement.nothing, *decision.new_failures)
    assert judged  # each gate is accounted for


@given(base=results)
def test_an_untouched_tree_passes(base: GateResult):
    assert judge_gates(a_report(base), a_report(base)).passes
