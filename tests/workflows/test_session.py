"""The session against fakes: the whole course, in both pacings, with rework and conflicts."""

import pytest
from temporalio.client import WorkflowFailureError
from temporalio.exceptions import ApplicationError, CancelledError

from starter.sessions.session_client import Sessions
from tests.fakes.world import Hold, World, approve, name_of, planned, reject, tool
from tests.theatre import Playing, Theatre, played, request, states
from tests.waiting import ends
from workflows.contracts.gate_contracts import RunGates
from workflows.contracts.host_contracts import (
    AwaitBase,
    AwaitedBase,
    FinishTask,
    ImportBase,
    ImportedBase,
    WorkRefused,
)
from workflows.contracts.land_contracts import (
    DeliverBranch,
    DeliveryLacking,
    DeliveryOutcome,
    DeliveryRefused,
    SendBase,
    SentBase,
)
from workflows.contracts.merging_contracts import MergeCommits, MergeConflict, MergeOutcome
from workflows.contracts.model_contracts import CallModel
from workflows.domain.agent.messages import ToolCall, UserMessage
from workflows.domain.agent.model_values import Role
from workflows.domain.agent.tool_policy import ToolPolicy
from workflows.domain.gate import GateReport, GateSpec
from workflows.domain.ids import Commit, Digest, SessionId
from workflows.domain.session.notice import NoticeKind
from workflows.domain.session.session_config import Approvals, WorktreeConfig
from workflows.domain.session.session_modes import Pacing
from workflows.domain.verdict import EvidencePlace
from workflows.domain.violation import DiffLimits, DiffRule, Violation
from workflows.errors import FailureType

pytestmark = pytest.mark.asyncio(loop_scope="session")

AUTO = Approvals(plan="auto", changeset="auto_if_green")
GATES = (GateSpec(name="tests", argv=("pytest",)),)


def _id(session: Playing) -> SessionId:
    return SessionId(session.handle.id.partition("/")[2])


@pytest.mark.sampled(2)
@pytest.mark.parametrize("pacing", list(Pacing))
async def test_all_tasks_are_merged_in_both_pacings(theatre: Theatre, pacing: Pacing) -> None:
    world = World(planned({"id": "a"}, {"id": "b"}, {"id": "c", "depends_on": ["a", "b"]}))
    result = await played(theatre, world, pacing=pacing)
    assert result.outcome == "complete"
    assert states(result) == {"a": ("merged", 1), "b": ("merged", 1), "c": ("merged", 1)}
    assert world.delivered[-1].new == result.head
    assert result.scripted


@pytest.mark.slow
async def test_planner_and_developers_are_told_of_the_repository(theatre: Theatre) -> None:
    world = World(planned({"id": "a"}))
    await played(theatre, world)
    assert ["three files" in world.heard(agent, 1) for agent in ("plan.1", "dev.a.1")] == [True] * 2


@pytest.mark.parametrize(
    ("setup", "prepared"),
    [
        ((), ["dev.a.1"]),
        pytest.param((("true",),), ["dev.a.1", "plan.1", "review.a.1.1"], marks=pytest.mark.slow),
    ],
)
@pytest.mark.slow
async def test_what_is_only_read_and_needs_no_set_up_is_neither_prepared_nor_removed(
    theatre: Theatre, setup: tuple[tuple[str, ...], ...], prepared: list[str]
) -> None:
    world = World(planned({"id": "a"}))
    await played(theatre, world, worktree=WorktreeConfig(setup=setup))
    assert sorted(each.worktree.agent for each in world.prepared) == prepared
    assert sorted(each.worktree.agent for each in world.removed) == prepared


@pytest.mark.slow
async def test_a_worktree_that_a_reviewers_tool_made_is_removed(theatre: Theatre) -> None:
    world = World(planned({"id": "a"}))
    looks = [tool("bash", command="ls")]
    world.script = lambda call: (
        looks if (call.role, call.turn) == (Role.REVIEWER, 1) else list(world.usual(call))
    )
    await played(theatre, world)
    assert [each.worktree.agent for each in world.removed] == ["dev.a.1", "review.a.1.1"]


@pytest.mark.slow
async def test_only_set_up_is_told_of_the_network(theatre: Theatre) -> None:
    world = World(planned({"id": "a"}))
    world.not_reached = ("host 'x.example.org' is not in 'worktree.network'",)
    worktree = WorktreeConfig(setup=(("true",),), network=("pkg.example",))
    async with theatre.session(world, gates=GATES, worktree=worktree) as playing:
        result = await playing.result()
        notices = (await playing.view()).notices
    assert result.outcome == "complete"
    assert {each.network for each in (*world.prepared, *world.judged)} == {("pkg.example",)}
    assert len(world.judged) == 3, "on the base, on the work, on the merged tree"
    assert [each.text for each in notices] == [*world.not_reached]
    assert not any("pkg.example" in each.model_dump_json() for each in (*world.tools, *world.calls))


@pytest.mark.parametrize(
    ("sandbox", "network", "told"),
    [
        ("none", ("pkg.example",), 1),
        pytest.param("none", (), 0, marks=pytest.mark.slow),
        pytest.param("fake", ("pkg.example",), 0, marks=pytest.mark.slow),
    ],
)
@pytest.mark.slow
async def test_a_list_that_nothing_enforces_is_told(
    theatre: Theatre, sandbox: str, network: tuple[str, ...], told: int
) -> None:
    world = World(planned({"id": "a"}))
    world.sandbox = sandbox
    async with theatre.session(world, worktree=WorktreeConfig(network=network)) as playing:
        await playing.result()
        texts = [each.text for each in (await playing.view()).notices]
    assert len([text for text in texts if "holds no one back" in text]) == told


@pytest.mark.sampled(2)
@pytest.mark.parametrize("pacing", list(Pacing))
async def test_what_a_gate_refuses_is_reworked_with_notes(theatre: Theatre, pacing: Pacing) -> None:
    """Field report R35."""
    world = World(planned({"id": "a"}))
    first = name_of("task", "a", 1, name_of("base"))
    world.gate_fails = lambda asked: asked.commit == first
    result = await played(theatre, world, pacing=pacing, gates=GATES)
    assert states(result) == {"a": ("merged", 2)}
    again = next(call for call in world.calls if call.agent == "dev.a.2")
    opening = again.messages[0]
    assert isinstance(opening, UserMessage)
    assert "test_new" in opening.text


class Restless(World):
    """A gate of it passes when run again, and changes a tracked file meanwhile."""

    async def run_gates(self, request: RunGates) -> GateReport:
        report = await super().run_gates(request)
        if request.baseline is None:
            return report
        (result,) = report.results
        facts = {"reason": "flaky: failed once", "changed_files": ("VERSION",)}
        return report.model_copy(update={"results": (result.model_copy(update=facts),)})


@pytest.mark.slow
async def test_r49_what_passed_all_the_same_is_told_of_work_and_of_merge(theatre: Theatre) -> None:
    tasks = ({"id": "a", "group": "g"}, {"id": "b", "group": "g", "depends_on": ["a"]})
    async with theatre.session(Restless(planned(*tasks)), gates=GATES) as session:
        result = await session.result()
        notices = (await session.view()).notices
    assert states(result) == dict.fromkeys("ab", ("merged", 1))
    told = {n.subject: n.text.splitlines() for n in notices if n.kind is NoticeKind.GATE}
    words = ["gate 'tests' flaky: failed once", "gate 'tests' changed tracked files: VERSION"]
    assert told == dict.fromkeys(("a", "b", "g"), words)


@pytest.mark.slow
async def test_what_a_reviewer_rejects_is_reworked_with_its_findings(
    theatre: Theatre,
) -> None:
    world = World(planned({"id": "a"}))

    def script(call: CallModel) -> list[ToolCall]:
        if call.role is Role.REVIEWER:
            is_first = call.agent == "review.a.1.1"
            return [reject("the edge is missing") if is_first else approve()]
        return list(world.usual(call))

    world.script = script
    result = await played(theatre, world)
    assert states(result) == {"a": ("merged", 2)}
    again = next(call for call in world.calls if call.agent == "dev.a.2")
    assert "the edge is missing" in again.messages[0].model_dump_json()


@pytest.mark.slow
async def test_a_refused_diff_is_reworked_with_the_place_of_each_finding(
    theatre: Theatre,
) -> None:
    world = World(planned({"id": "a"}))

    def finish(asked: FinishTask) -> WorkRefused | None:
        if asked.attempt > 1:
            return None
        text = "this line looks like a GitHub token"
        found = Violation(rule=DiffRule.SECRET, path="src/a.py", line=3, text=text)
        return WorkRefused(reason="violation", findings=(found,))

    world.finish = finish
    limits = DiffLimits(changed_files=7, changed_bytes=8)
    result = await played(theatre, world, limits=limits)
    assert states(result) == {"a": ("merged", 2)}
    assert [each.limits for each in world.finished] == [limits, limits]
    again = next(call for call in world.calls if call.agent == "dev.a.2")
    opening = again.messages[0].model_dump_json()
    assert "src/a.py:3: this line looks like a GitHub token" in opening


@pytest.mark.slow
async def test_approval_without_evidence_that_holds_is_never_a_pass(
    theatre: Theatre,
) -> None:
    world = World(planned({"id": "a"}))
    world.place = EvidencePlace.ABSENT
    result = await played(theatre, world, attempts=1)
    assert result.outcome == "incomplete"
    assert states(result) == {"a": ("cancelled", 1)}
    assert [a for a in world.agents() if a.startswith("review")] == ["review.a.1.1", "review.a.1.2"]


@pytest.mark.parametrize("pacing", list(Pacing))
@pytest.mark.slow
async def test_a_conflict_sends_the_task_back_onto_the_new_head(
    theatre: Theatre, pacing: Pacing
) -> None:
    """Field reports R15 and R46."""
    world = World(planned({"id": "a"}, {"id": "b"}))

    def merge(asked: MergeCommits) -> MergeConflict | None:
        first = name_of("task", "b", 1, name_of("base"))
        if first in asked.commits:
            return MergeConflict(commit=asked.commits[0], paths=("src/x",), text="file location")
        return None

    world.merge = merge
    result = await played(theatre, world, pacing=pacing)
    assert states(result) == {"a": ("merged", 1), "b": ("merged", 2)}
    if pacing is Pacing.WAVE:  # in flow, `b` may come to its merge before `a`
        again = next(each for each in world.finished if (each.task, each.attempt) == ("b", 2))
        assert again.base == name_of(name_of("base"), name_of("task", "a", 1, name_of("base")))


async def test_a_task_out_of_attempts_fails_blocks_its_dependants_and_the_rest_goes_on(
    theatre: Theatre,
) -> None:
    """Field report R56."""
    world = World(planned({"id": "a"}, {"id": "b", "depends_on": ["a"]}, {"id": "c"}))

    def finish(asked: FinishTask) -> WorkRefused | None:
        if asked.task == "a":
            return WorkRefused(
                reason="empty",
                findings=(Violation(rule=DiffRule.EMPTY, text="nothing was changed"),),
            )
        return None

    world.finish = finish
    result = await played(theatre, world, attempts=2)
    assert result.outcome == "incomplete"
    assert states(result) == {"a": ("failed", 2), "b": ("blocked", 0), "c": ("merged", 1)}
    assert "a (failed)" in result.reason


@pytest.mark.slow
async def test_a_plan_with_a_cycle_is_repaired_once_by_the_planner(
    theatre: Theatre,
) -> None:
    """Field report R56."""
    bad = planned({"id": "a", "depends_on": ["b"]}, {"id": "b", "depends_on": ["a"]})
    world = World(planned({"id": "a"}))

    def script(call: CallModel) -> list[ToolCall]:
        if call.role is Role.PLANNER and call.turn == 1:
            return [tool("submit_plan", **bad)]
        return list(world.usual(call))

    world.script = script
    result = await played(theatre, world)
    assert result.outcome == "complete"
    repair = next(c for c in world.calls if c.role is Role.PLANNER and c.turn == 2)
    assert "a→b→a" in repair.messages[0].model_dump_json()


async def test_without_an_acceptable_plan_an_unattended_session_fails_in_words(
    theatre: Theatre,
) -> None:
    """Field report R56."""
    bad = planned({"id": "a", "depends_on": ["zz"]})
    world = World(bad)
    with pytest.raises(WorkflowFailureError) as failure:
        await played(theatre, world)
    assert "zz" in str(failure.value.cause)


class Blocked(World):
    """A branch of the person's has come into the way meanwhile."""

    async def deliver(self, request: DeliverBranch) -> DeliveryOutcome:
        await super().deliver(request)
        return DeliveryRefused(reason="your branch 'blueflame' leaves no room")


@pytest.mark.slow
async def test_r05_work_that_cannot_be_delivered_is_kept_and_told(theatre: Theatre) -> None:
    async with theatre.session(Blocked(planned({"id": "a"}))) as session:
        result = await session.result()
        told = [n.text for n in (await session.view()).notices if n.kind is NoticeKind.DELIVERY]
    assert (result.outcome, result.branch) == ("incomplete", None)
    assert states(result) == {"a": ("merged", 1)}
    assert told == ["your branch 'blueflame' leaves no room"]


class LostCopy(World):
    """The host loses what the base builds on, after it was asked."""

    async def import_base(self, request: ImportBase) -> ImportedBase:
        if request.bundle is None:
            text = "base does not fit what is here"
            raise ApplicationError(text, type=FailureType.BASE_LACKING, non_retryable=True)
        return await super().import_base(request)


@pytest.mark.slow
async def test_a_base_that_does_not_fit_the_host_is_sent_whole(theatre: Theatre) -> None:
    world = LostCopy(planned({"id": "a"}))
    result = await played(theatre, world)
    assert result.outcome == "complete"
    first, second = world.sent
    assert (first.place, bool(first.known)) == ("here", True)
    assert (second.place, second.known) == (None, ())


HOST_ENDS, ENDS = Digest("1" * 64), Digest("2" * 64)


class CutCopy(World):
    """The host has the base with a history that was cut."""

    taken_in: Digest | None = None

    async def await_base(self, request: AwaitBase) -> AwaitedBase:
        return AwaitedBase(is_there=True, known=(request.commit,), ends=HOST_ENDS)

    async def send(self, request: SendBase) -> SentBase:
        self.sent.append(request)
        return SentBase(ends=ENDS)

    async def import_base(self, request: ImportBase) -> ImportedBase:
        self.taken_in = request.ends
        return await super().import_base(request)


@pytest.mark.slow
async def test_a_host_with_a_cut_history_is_sent_what_the_session_wants(theatre: Theatre) -> None:
    world = CutCopy(planned({"id": "a"}))
    result = await played(theatre, world, worktree=WorktreeConfig(history=7))
    assert result.outcome == "complete"
    assert [(each.history, each.ends) for each in world.sent] == [(7, HOST_ENDS)]
    assert world.taken_in == ENDS


class Forgetful(World):
    """The repository has lost the base; with the base sent, it takes the branch."""

    async def deliver(self, request: DeliverBranch) -> DeliveryOutcome:
        outcome = await super().deliver(request)
        return DeliveryLacking() if request.base is None else outcome


@pytest.mark.slow
async def test_a_repository_that_lost_the_base_is_sent_base_and_branch(theatre: Theatre) -> None:
    world = Forgetful(planned({"id": "a"}))
    result = await played(theatre, world)
    assert result.outcome == "complete"
    base = Commit(name_of("base"))
    assert [(each.head, each.since) for each in world.bundled] == [
        (result.head, base),
        (base, None),
    ]
    assert [each.base is None for each in world.delivered] == [True, False]


@pytest.mark.slow
async def test_a_wave_whose_last_changeset_is_returned_delivers_what_it_merged(
    theatre: Theatre,
) -> None:
    world = World(planned({"id": "a"}, {"id": "b"}))
    base = Commit(name_of("base"))
    works = [Commit(name_of("task", task, 1, base)) for task in "ab"]
    merged = Commit(name_of(base, works[0]))

    def merge(request: MergeCommits) -> MergeOutcome | None:
        if request.commits[0] != works[1]:
            return None
        return MergeConflict(commit=works[1], paths=("a",), text="both changed a")

    world.merge = merge
    result = await played(theatre, world)
    assert result.outcome == "complete"
    assert (world.delivered[0].old, world.delivered[0].new) == (None, merged)
    assert [(each.head, each.since) for each in world.bundled] == [(merged, base)]
    assert (world.delivered[1].old, world.delivered[1].new) == (merged, result.head)


@pytest.mark.slow
async def test_a_changeset_of_a_group_is_merged_whole(theatre: Theatre) -> None:
    world = World(
        planned({"id": "a", "group": "g"}, {"id": "b", "group": "g", "depends_on": ["a"]})
    )
    result = await played(theatre, world)
    assert result.outcome == "complete"
    assert len(world.delivered) == 1


@pytest.mark.slow
async def test_claims_that_overlap_never_run_together(theatre: Theatre) -> None:
    same = ["CHANGELOG.md"]
    world = World(planned(*({"id": name, "claims": same} for name in "abcd")))
    result = await played(theatre, world, pacing=Pacing.FLOW)
    assert result.outcome == "complete"
    assert world.most_running == 1


@pytest.mark.slow
async def test_a_reviewer_of_the_authors_family_is_told_and_taken(theatre: Theatre) -> None:
    world = World(planned({"id": "a"}))
    routes = request().config.routes.model_copy(update={"reviewer": ("scripted/alpha",)})
    async with theatre.session(world, routes=routes) as session:
        result = await session.result()
        texts = [each.text for each in (await session.view()).notices]
    assert states(result) == {"a": ("merged", 1)}
    assert any(text.startswith("every reviewer is of the family") for text in texts), texts


@pytest.mark.slow
async def test_a_cancelled_session_ends_its_waves_and_its_ledger(theatre: Theatre) -> None:
    world = World(planned({"id": "a"}))
    hold = Hold(lambda call: call.role is Role.DEVELOPER)
    world.on_call = hold
    async with theatre.session(world) as session:
        await hold.arrived()
        await session.handle.cancel()
        with pytest.raises(WorkflowFailureError) as failure:
            await session.result()
        assert isinstance(failure.value.cause, CancelledError)
        seen = await Sessions(theatre.client).view(_id(session))
        assert (seen.outcome, seen.reason) == ("failed", "cancelled through Temporal")
        ledger = theatre.client.get_workflow_handle(f"{session.handle.id}/ledger")
        await ends(ledger.result(), "the end of the ledger")
    assert world.running == {}


@pytest.mark.slow
async def test_each_role_is_offered_the_tools_that_a_person_leaves_it(theatre: Theatre) -> None:
    world = World(planned({"id": "a"}))
    policy = ToolPolicy(planner_tools=("read",), developer_tools=("bash", "write"))
    result = await played(theatre, world, policy=policy)
    assert result.outcome == "complete"
    assert {call.role: call.tools for call in world.calls} == {
        Role.PLANNER: ("read",),
        Role.DEVELOPER: ("bash", "write"),
        Role.REVIEWER: ("bash", "read"),
    }
