"""Which gates run on a change, and what is said of those that do not."""

import pytest

from workflows.domain.gate import GateReport, GateResult, GateSpec, Judgement
from workflows.domain.ids import Tree
from workflows.policy.gates.chosen_gates import as_baseline, choose, in_order, spared, touches
from workflows.policy.gates.gate_comparison import is_green, judge_gates
from workflows.policy.gates.green_rule import joined, may_approve_by_rule
from workflows.policy.review.gate_lines import gate_lines


def gate(name: str, *paths: str, cheap: bool = False) -> GateSpec:
    return GateSpec(name=name, argv=("true",), cheap=cheap, paths=paths)


LINT, TESTS, WEB = gate("lint", cheap=True), gate("tests"), gate("web", "web/**", "*.json")


def names(gates: tuple[GateSpec, ...]) -> list[str]:
    return [each.name for each in gates]


@pytest.mark.parametrize(
    ("gates", "changed", "first", "then", "others"),
    [
        ((TESTS, LINT, WEB), None, [], ["tests", "lint", "web"], []),
        ((TESTS, LINT, WEB), ("web/a.ts",), ["lint"], ["tests", "web"], []),
        ((TESTS, LINT, WEB), ("package.json",), ["lint"], ["tests", "web"], []),
        ((TESTS, LINT, WEB), ("src/a.py",), ["lint"], ["tests"], ["web"]),
        ((LINT, WEB), ("src/a.py",), [], ["lint"], ["web"]),
        ((WEB,), ("src/a.json",), [], [], ["web"]),
        ((WEB,), (), [], [], ["web"]),
        ((), ("a",), [], [], []),
    ],
)
def test_the_table(
    gates: tuple[GateSpec, ...],
    changed: tuple[str, ...] | None,
    first: list[str],
    then: list[str],
    others: list[str],
):
    chosen = choose(gates, changed)
    assert (names(chosen.first), names(chosen.then)) == (first, then)
    assert [each.gate for each in chosen.others] == others
    assert {each.result for each in chosen.others} <= {"not_concerned"}


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("web", ("web", "web/a/b"), ("webs", "a/web")),
        ("web/", ("web/a",), ("webs",)),
        ("web/**", ("web/a", "web/a/b"), ("webs/a", "a/web/b")),
        ("*", ("a", "a.json"), ("a/b",)),
        ("*.json", ("a.json",), ("a/b.json", "ajson")),
        ("**/a.py", ("a.py", "x/y/a.py"), ("ba.py",)),
        ("packages/*", ("packages/a",), ("packages/a/b",)),
        ("a?.py", ("ab.py",), ("a/.py", "abc.py")),
        ("a.b", ("a.b",), ("axb",)),
        ("app/[id]", ("app/[id]", "app/[id]/x"), ("app/i",)),
    ],
)
def test_path_patterns_match(pattern: str, yes: tuple[str, ...], no: tuple[str, ...]):
    assert [path for path in yes if not touches(path, (pattern,))] == []
    assert [path for path in no if touches(path, (pattern,))] == []


def result(name: str, said: str, *failures: str) -> GateResult:
    values = {"gate": name, "result": said, "exit_code": 0, "failures": failures, "reason": "why"}
    return GateResult.model_validate(values)


def report(*results: GateResult) -> GateReport:
    return GateReport(tree=Tree("t"), results=results)


BASE = report(result("lint", "passed"), result("web", "failed", "old"))


def test_a_spared_gate_blocks_and_judges_nothing():
    work = report(result("lint", "failed", "new"), *spared((WEB,), ("lint",)))
    decision = judge_gates(BASE, work)
    assert not decision.passes
    assert decision.judgement == Judgement(nothing=("web: was spared: lint failed before it",))
    assert "gate 'web' was spared: lint failed before it" in decision.notes
    assert decision.new_failures == ("lint: new",)


def test_a_gate_that_is_not_concerned_neither_blocks_nor_judges():
    decision = judge_gates(BASE, report(result("lint", "passed"), result("web", "not_concerned")))
    assert decision.passes
    assert decision.judgement.by == ("lint",)
    alone = judge_gates(
        BASE, report(result("lint", "not_concerned"), result("web", "not_concerned"))
    )
    assert alone.passes
    assert not may_approve_by_rule(alone.judgement, "ask"), "no gate judged it"


@pytest.mark.parametrize("said", ["spared", "not_concerned"])
def test_a_gate_that_did_not_run_keeps_its_earlier_baseline(said: str):
    after = as_baseline(BASE, report(result("lint", "passed"), result("web", said)))
    assert [(each.gate, each.result) for each in after.results] == [
        ("lint", "passed"),
        ("web", "failed"),
    ]
    still = judge_gates(after, report(result("lint", "passed"), result("web", "failed", "old")))
    assert still.passes, "its failure is known from before"


def test_gates_that_did_not_run_are_named_to_reviewers_in_order():
    results = in_order((LINT, WEB), (result("web", "not_concerned"), result("lint", "passed")))
    assert gate_lines(report(*results), "") == "lint: passed\nweb: was not run: why"
    assert is_green(report(*results))
    assert not is_green(report(result("web", "spared")))


def test_work_on_several_packages_is_judged_by_the_gate_of_each():
    one, other = Judgement(by=("a",), nothing=("b: x",)), Judgement(by=("b",), nothing=("a: x",))
    assert joined([one, other]).by == ("a", "b")
    assert joined([one, Judgement(nothing=("a: x",))]).by == ()
