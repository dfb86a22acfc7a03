"""What is said of gates that are not green on the base, before work is judged."""

import pytest

from tests.unit.policy.gates.results import a_report, failed, passed, unfinished
from workflows.domain.gate import GateReport, GateResult
from workflows.domain.session.session_config import Approvals
from workflows.policy.gates.base_notices import base_notices, base_refusal
from workflows.policy.gates.gate_comparison import MAX_NAMED, is_green


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (unfinished(), "judges nothing on the base: timed out (time-out after 2 s)"),
        (unfinished(reason=""), "judges nothing on the base: timed out"),
        (failed(), "fails on the base and names no tests: as long as it does, it judges nothing"),
        (
            failed(excerpt="> tsc\nsh: 1: tsc: not found\nbye"),
            "names no tests (sh: 1: tsc: not found)",
        ),
        (failed(excerpt="hello\nbye\n"), "names no tests (bye)"),
        (failed("a", "b"), "fails on the base already (failures: 2): only new failures count"),
        (failed(*map(str, range(MAX_NAMED))), f"(failures: {MAX_NAMED} or more)"),
        (
            failed("a", cut_short="stopping after 1 failures"),
            "(failures: 1) and was cut short (stopping after 1 failures)",
        ),
    ],
)
def test_a_gate_that_does_not_pass_on_the_base_is_reported(result: GateResult, words: str):
    report = a_report(passed("lint"), result)
    (told,) = base_notices(report)
    assert told.startswith("gate 'tests' ")
    assert words in told
    assert not is_green(report)


def test_a_green_base_needs_no_words():
    assert is_green(a_report(passed(), passed("lint")))
    assert base_notices(a_report(passed(), passed("lint"))) == ()


@pytest.mark.parametrize(
    "result", [unfinished(), failed(), failed("a", cut_short="stopping after 1 failures")]
)
def test_a_base_that_no_gate_judges_gets_a_notice_with_the_consequence(result: GateResult):
    told = base_notices(a_report(result))
    assert "no gate judges the base" in told[-1]
    assert "approvals.unjudged" in told[-1]


def test_without_gates_the_base_says_nothing():
    assert base_notices(a_report()) == ()


NONE_JUDGES = a_report(unfinished(), unfinished(gate="lint"))


@pytest.mark.parametrize(
    ("report", "approvals", "ends"),
    [
        (a_report(), Approvals(), False),
        (a_report(passed(), unfinished(gate="lint")), Approvals(), False),
        (a_report(failed(), unfinished(gate="lint")), Approvals(), False),
        (NONE_JUDGES, Approvals(unjudged="allow"), False),
        (NONE_JUDGES, Approvals(unjudged_base="allow"), False),
        (NONE_JUDGES, Approvals(), True),
    ],
)
def test_a_session_ends_unpaid_only_where_every_gate_judged_nothing(
    report: GateReport, approvals: Approvals, ends: bool
):
    assert bool(base_refusal(report, approvals)) is ends


def test_the_refusal_names_each_gate_and_what_to_do():
    told = base_refusal(NONE_JUDGES, Approvals())
    assert "gate 'tests': timed out (time-out after 2 s)" in told
    assert "gate 'lint': timed out" in told
    assert "blueflame doctor --repo" in told
    assert "--allow-unjudged-base" in told
