"""Work that no gate judged never merges by itself; a person may approve it by hand."""

from collections.abc import Callable

import pytest
from _pytest.mark import ParameterSet  # what `pytest.param` returns has no public name

from tests.effort import pairs
from tests.fakes.world import World, planned
from tests.theatre import Theatre, states
from workflows.contracts.gate_contracts import RunGates
from workflows.contracts.host_contracts import DiffText, ReadDiff
from workflows.domain.gate import GateReport, GateResult, GateSpec, TestCounts, WhyNothing
from workflows.domain.ids import Tree
from workflows.domain.session.session_config import Approvals
from workflows.domain.session.session_modes import Pacing

pytestmark = pytest.mark.asyncio(loop_scope="session")

UNATTENDED = Approvals(plan="auto", changeset="auto_if_green", unjudged_base="allow")
ALLOWED = Approvals(plan="auto", changeset="auto_if_green", unjudged="allow")
ATTENDED = Approvals(plan="auto", changeset="ask", unjudged_base="allow")
ONE = (GateSpec(name="tests", argv=("true",)),)
PACINGS = pytest.mark.parametrize("pacing", list(Pacing))

Facts = dict[str, object]


def nothing(why: WhyNothing, reason: str) -> Facts:
    return {"result": "judged_nothing", "why": why, "exit_code": 1, "reason": reason}


NOT_STARTED = nothing(WhyNothing.COULD_NOT_START, "'cargo' cannot be run")
CUT: Facts = {
    "result": "failed",
    "exit_code": 2,
    "failures": ("t_bad.py",),
    "cut_short": "Interrupted: 1 error during collection",
}
WAYS: dict[str, tuple[Facts, str]] = {
    "could not start": (NOT_STARTED, "tests: could not start ('cargo' cannot be run)"),
    "no tests": (
        nothing(WhyNothing.NO_TESTS, "no tests ran"),
        "tests: ran no test (no tests ran)",
    ),
    "stopped": (
        nothing(WhyNothing.STOPPED, "out of memory"),
        "tests: stopped before its end (out of memory)",
    ),
    "cut short": (CUT, "tests: cut short (Interrupted: 1 error during collection)"),
    "timed out": (
        nothing(WhyNothing.TIMED_OUT, "time-out after 600 s"),
        "tests: timed out (time-out after 600 s)",
    ),
    "red without names": (
        {"result": "failed", "exit_code": 1},
        "tests: failed as on the base, naming no tests",
    ),
}


class Gated(World):
    """Every gate comes to what is told, on each commit."""

    def __init__(self, comes_to: Callable[[RunGates], Facts], *tasks: dict[str, object]) -> None:
        super().__init__(planned(*(tasks or ({"id": "a"},))))
        self.comes_to = comes_to

    async def run_gates(self, request: RunGates) -> GateReport:
        self.judged.append(request)
        results = tuple(
            GateResult.model_validate({"gate": gate.name, **self.comes_to(request)})
            for gate in request.gates
        )
        return GateReport(tree=Tree(f"{len(self.judged):040}"), results=results)


def ways(*kinds: str) -> list[ParameterSet]:
    """Pair each way with each pacing; ways that are not of these kinds are slow tests."""
    rest = [way for way in WAYS if way not in kinds]
    return [
        *pairs(kinds, list(Pacing)),
        *(pytest.param(way, pacing, marks=pytest.mark.slow) for way in rest for pacing in Pacing),
    ]


def always(facts: Facts) -> Callable[[RunGates], Facts]:
    return lambda _: facts


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("way", "pacing"), ways("could not start", "cut short", "red without names")
)
async def test_unattended_work_that_no_gate_judged_is_not_merged(
    theatre: Theatre, way: str, pacing: Pacing
):
    facts, reason = WAYS[way]
    world = Gated(always(facts), {"id": "a"}, {"id": "b", "depends_on": ["a"]})
    async with theatre.session(world, approvals=UNATTENDED, gates=ONE, pacing=pacing) as session:
        result = await session.result()
        view = await session.view()
    assert result.outcome == "incomplete"
    assert f"no gate judged a{' and 1 more' if pacing is Pacing.FLOW else ''}: {reason}" in (
        result.reason
    )
    assert world.delivered == []
    line = view.changesets[0]
    assert (line.judged_by, line.not_judged) == ((), reason)
    assert line.state == "dropped"
    told = [each.text for each in view.notices]
    assert any("no gate judges the base" in text for text in told)


@pytest.mark.sampled(2)
@PACINGS
async def test_without_gates_unattended_work_is_not_merged(theatre: Theatre, pacing: Pacing):
    world = Gated(always({}))
    async with theatre.session(world, approvals=UNATTENDED, gates=(), pacing=pacing) as session:
        result = await session.result()
        told = [each.text for each in (await session.view()).notices]
    assert (result.outcome, states(result)) == ("incomplete", {"a": ("cancelled", 1)})
    assert "no gate judged a: no gates" in result.reason
    assert any("nothing merges by itself" in text for text in told)


@pytest.mark.parametrize(("gates", "pacing"), pairs([ONE, ()], list(Pacing)))
@pytest.mark.slow
async def test_a_person_may_let_rules_merge_what_no_gate_judged(
    theatre: Theatre, gates: tuple[GateSpec, ...], pacing: Pacing
):
    world = Gated(always(NOT_STARTED))
    async with theatre.session(world, approvals=ALLOWED, gates=gates, pacing=pacing) as session:
        result = await session.result()
        (line,) = (await session.view()).changesets
    assert (result.outcome, states(result)) == ("complete", {"a": ("merged", 1)})
    assert line.judged_by == ()
    assert line.not_judged


@pytest.mark.parametrize(("way", "pacing"), ways("could not start", "cut short"))
@pytest.mark.slow
async def test_a_person_sees_that_no_gate_judged_and_may_approve_by_hand(
    theatre: Theatre, way: str, pacing: Pacing
):
    facts, reason = WAYS[way]
    world = Gated(always(facts))
    async with theatre.session(world, approvals=ATTENDED, gates=ONE, pacing=pacing) as session:
        view = await session.until(lambda view: any(each.digest for each in view.changesets))
        (line,) = view.changesets
        assert (line.judged_by, line.not_judged) == ((), reason)
        by_rule = {"id": "a", "digest": line.digest, "by": "ci.yaml", "by_rule": True}
        await session.say("approve_changeset", by_rule)
        view = await session.until(lambda view: any("ci.yaml" in n.by for n in view.decisions))
        assert view.changesets[0].state == "awaiting_approval"
        assert any("a person has to approve it" in each.text for each in view.notices)
        await session.say("approve_changeset", {"id": "a", "digest": line.digest})
        result = await session.result()
    assert (result.outcome, states(result)) == ("complete", {"a": ("merged", 1)})


@pytest.mark.sampled(2)
@PACINGS
@pytest.mark.slow
async def test_a_rule_may_approve_what_a_gate_judged(theatre: Theatre, pacing: Pacing):
    world = Gated(always({"result": "passed", "exit_code": 0}))
    async with theatre.session(world, approvals=ATTENDED, gates=ONE, pacing=pacing) as session:
        view = await session.until(lambda view: any(each.digest for each in view.changesets))
        (line,) = view.changesets
        assert (line.judged_by, line.not_judged) == (("tests",), "")
        by_rule = {"id": "a", "digest": line.digest, "by": "ci.yaml", "by_rule": True}
        await session.say("approve_changeset", by_rule)
        result = await session.result()
    assert result.outcome == "complete"


@pytest.mark.sampled(2)
@PACINGS
@pytest.mark.slow
async def test_a_gate_that_judges_only_the_change_counts(theatre: Theatre, pacing: Pacing):
    """The base had no tests; the change brings the first."""

    def comes_to(request: RunGates) -> Facts:
        is_base = request.baseline is None
        return WAYS["no tests"][0] if is_base else {"result": "passed", "exit_code": 0}

    async with theatre.session(
        Gated(comes_to), approvals=UNATTENDED, gates=ONE, pacing=pacing
    ) as session:
        result = await session.result()
        (line,) = (await session.view()).changesets
    assert (result.outcome, line.judged_by) == ("complete", ("tests",))


@pytest.mark.sampled(2)
@PACINGS
async def test_what_no_gate_judged_after_the_merge_waits_for_a_person(
    theatre: Theatre, pacing: Pacing
):
    """Each change was judged alone; together their gates come to nothing, as on the base."""

    def comes_to(request: RunGates) -> Facts:
        is_judged = request.baseline is not None and len(world.judged) == 2
        return {"result": "passed", "exit_code": 0} if is_judged else NOT_STARTED

    world = Gated(comes_to)
    async with theatre.session(world, approvals=UNATTENDED, gates=ONE, pacing=pacing) as session:
        result = await session.result()
        view = await session.view()
    assert result.outcome == "incomplete"
    assert "no gate judged a: tests: could not start" in result.reason
    assert world.delivered == []
    assert any("no gate judged the merged tree" in each.text for each in view.notices)


@pytest.mark.slow
async def test_a_person_approves_what_a_rule_could_not_merge(theatre: Theatre):
    """The decisions file approved judged work; nothing judges the merged tree."""

    def comes_to(request: RunGates) -> Facts:
        is_judged = request.baseline is not None and len(world.judged) == 2
        return {"result": "passed", "exit_code": 0} if is_judged else NOT_STARTED

    world = Gated(comes_to)
    async with theatre.session(world, approvals=ATTENDED, gates=ONE) as session:
        view = await session.until(lambda view: any(each.digest for each in view.changesets))
        by_hand: dict[str, object] = {"id": "a", "digest": view.changesets[0].digest}
        await session.say("approve_changeset", {**by_hand, "by": "ci.yaml", "by_rule": True})
        view = await session.until(lambda view: bool(view.changesets[0].not_judged))
        assert view.changesets[0].state == "awaiting_approval"
        assert view.changesets[0].approved_by == ""
        await session.say("approve_changeset", by_hand)
        result = await session.result()
    assert result.outcome == "complete"


@pytest.mark.slow
async def test_a_run_that_ends_early_is_refused(theatre: Theatre):
    """Field report G33: the closing line is absent, and the exit code is 0."""

    def comes_to(request: RunGates) -> Facts:
        tests = TestCounts(passed=3) if request.baseline is None else None
        return {"result": "passed", "exit_code": 0, "tests": tests}

    async with theatre.session(
        Gated(comes_to), approvals=UNATTENDED, gates=ONE, attempts=1
    ) as session:
        result = await session.result()
    assert (result.outcome, states(result)) == ("incomplete", {"a": ("failed", 1)})


class Thinned(Gated):
    """The work takes tests away."""

    async def diff(self, request: ReadDiff) -> DiffText:
        found = await super().diff(request)
        return found.model_copy(update={"weakened": ("test_a.py: removed: test_x",)})


def missing(request: RunGates) -> Facts:
    is_base = request.baseline is None
    tests = TestCounts(passed=3 if is_base else 2)
    left_out = () if is_base else ("test_a.py::test_x",)
    return {"result": "passed", "exit_code": 0, "tests": tests, "missing": left_out}


@pytest.mark.slow
async def test_tests_that_are_stopped_from_elsewhere_are_refused(theatre: Theatre):
    """Field report G33: their file is as it was, and yet they do not run."""
    world = Gated(missing)
    async with theatre.session(world, approvals=UNATTENDED, gates=ONE, attempts=1) as session:
        result = await session.result()
        record = await session.task("a")
    assert (result.outcome, states(result)) == ("incomplete", {"a": ("failed", 1)})
    assert "do not run now; let them run again:\ntests: test_a.py::test_x" in record.notes[-1]


@pytest.mark.slow
async def test_weakened_tests_are_named_to_the_reviewer_and_the_person(theatre: Theatre):
    def fewer(request: RunGates) -> Facts:
        return {**missing(request), "missing": ()}

    world = Thinned(fewer)
    async with theatre.session(world, approvals=UNATTENDED, gates=ONE) as session:
        result = await session.result()
        view = await session.view()
        record = await session.task("a")
    told = ("test_a.py: removed: test_x", "gate 'tests' ran 2 tests, 3 on the base")
    assert result.outcome == "complete"
    assert record.weakened == told
    heard = world.heard("review.a.1.1", 1)
    assert all(line in heard for line in told)
    assert any(all(line in each.text for line in told) for each in view.notices)
