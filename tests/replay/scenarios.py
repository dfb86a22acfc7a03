"""The sessions whose histories are committed: played on a real server with fake activities.

Between them: every workflow type, both pacings, rework by gate and reviewer, a conflict, an agent
that never ends well, every signal, a stop, and continue-as-new of session, ledger and agent.
"""

import contextlib
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from temporalio.service import RPCError

from tests.fakes.world import Hold, World, approve, name_of, planned, reject, tool
from tests.theatre import Playing, Theatre, request
from tests.waiting import ends, until
from workflows import queues
from workflows.contracts.merging_contracts import MergeCommits, MergeConflict
from workflows.contracts.model_contracts import CallModel
from workflows.domain.agent.messages import ToolCall
from workflows.domain.agent.model_values import Role
from workflows.domain.gate import GateSpec
from workflows.domain.session.notification import NotificationKind
from workflows.domain.session.query_answers import SessionView
from workflows.domain.session.queued_goal import Enqueue, QueuedGoal, QueueRequest, QueueState
from workflows.domain.session.scheduled_goal import ScheduledGoal, SessionMade
from workflows.domain.session.session_config import Approvals
from workflows.domain.session.session_modes import Pacing
from workflows.schedules.repository_turn import queue_id, turn_id

Scenario = Callable[[Theatre], Awaitable[str]]
"""Plays a session to its end and returns its workflow id."""

_GATES = (GateSpec(name="tests", argv=("pytest",)),)
_ABC = ({"id": "a"}, {"id": "b"}, {"id": "c", "depends_on": ["a", "b"]})
_MANY_TURNS = 8


async def wave(theatre: Theatre) -> str:
    """Pacing `wave`; a gate refuses the first attempt at a."""
    world = World(planned(*_ABC), usd_per_call=Decimal("0.01"))
    first = name_of("task", "a", 1, name_of("base"))
    world.gate_fails = lambda asked: asked.commit == first
    return await _played(theatre, world, pacing=Pacing.WAVE, gates=_GATES)


async def flow(theatre: Theatre) -> str:
    """Pacing `flow`; the reviewer rejects the first attempt at a."""
    world = World(planned(*_ABC), usd_per_call=Decimal("0.01"))

    def script(call: CallModel) -> list[ToolCall]:
        if call.role is Role.REVIEWER:
            return [reject("not yet") if call.agent == "review.a.1.1" else approve()]
        return list(world.usual(call))

    world.script = script
    return await _played(theatre, world, pacing=Pacing.FLOW, gates=_GATES)


async def conflict(theatre: Theatre) -> str:
    """The first commit of b conflicts with what was merged meanwhile."""
    world = World(planned({"id": "a"}, {"id": "b"}))

    def merge(asked: MergeCommits) -> MergeConflict | None:
        if name_of("task", "b", 1, name_of("base")) in asked.commits:
            return MergeConflict(commit=asked.commits[0], paths=("src/x",), text="content")
        return None

    world.merge = merge
    return await _played(theatre, world, pacing=Pacing.FLOW)


async def failure(theatre: Theatre) -> str:
    """The agent of a says nothing useful until it is given up; b is blocked by it."""
    world = World(planned({"id": "a"}, {"id": "b", "depends_on": ["a"]}))
    world.script = lambda call: [] if call.role is Role.DEVELOPER else list(world.usual(call))
    return await _played(theatre, world, attempts=2)


def _asking(world: World, call: CallModel) -> list[ToolCall]:
    asks = call.agent == "dev.a.1" and call.turn == 1
    return [tool("ask", question="Which one?")] if asks else list(world.usual(call))


async def signals(theatre: Theatre) -> str:
    """A person uses every signal but `stop` and those of `earlier_work`."""
    world = World(planned(*_ABC, {"id": "d"}))
    held = Hold(lambda call: call.role is Role.DEVELOPER)
    world.on_call = held
    world.script = lambda call: _asking(world, call)
    async with theatre.session(world, approvals=Approvals(), pacing=Pacing.WAVE) as session:
        await _until(session, lambda seen: seen.phase == "awaiting_plan")
        await session.say("reject_plan", {"notes": "smaller", "by": "p"})
        await session.say("replace_plan", {"plan": world.plan, "by": "p"})
        await _until(session, lambda seen: seen.phase == "awaiting_plan")
        await session.say("approve_plan", {"by": "p"})
        await held.arrived()
        await session.say("steer_task", {"id": "a", "text": "mind the edge"})
        await session.say("edit_plan", {"digest": "f" * 64, "plan": world.plan, "by": "p"})
        await session.say("set_priority", {"id": "b", "n": 7})
        await session.say("set_budget", {"usd": 5})
        await session.say("skip_task", {"id": "d", "satisfies": False})
        await session.say("retry_task", {"id": "d", "notes": "after all"})
        await session.say("approve_changeset", {"id": "nobody", "digest": "0"})
        await session.say("pause")
        await _until(session, lambda seen: seen.phase == "paused")
        await session.say("resume")
        held.release()
        await _until(session, lambda seen: bool(seen.questions))
        await session.say("answer", {"id": "a", "text": "the first", "by": "p"})
        await session.say("rework")
        await session.say("proceed")
        await _until(session, lambda seen: any(each.digest for each in seen.changesets))
        await session.say("reject_changeset", {"id": "a", "reason": "not like this"})
        await _approve_all(session)
        return session.handle.id


async def earlier_work(theatre: Theatre) -> str:
    """A person rewinds a, and takes it back once it is merged."""
    world = World(planned({"id": "a"}, {"id": "b", "depends_on": ["a"]}))
    first = Hold(lambda call: (call.agent, call.turn) == ("dev.a.1", 2))
    second = Hold(lambda call: call.agent == "dev.b.1")
    world.on_call = lambda call: first(call) or second(call)
    async with theatre.session(world, pacing=Pacing.WAVE) as session:
        await first.arrived()
        await session.say("rewind_task", {"id": "a", "turn": 1, "by": "p"})
        await second.arrived()
        await session.say("revert_task", {"id": "a", "reason": "not wanted", "by": "p"})
        await _until(session, lambda seen: "revert-a" in [each.id for each in seen.tasks])
        first.release()
        second.release()
        await session.result()
        return session.handle.id


async def stopped(theatre: Theatre) -> str:
    """Somebody stops the session while agents work."""
    world = World(planned({"id": "a"}, {"id": "b"}))
    held = Hold(lambda call: call.role is Role.DEVELOPER)
    world.on_call = held
    async with theatre.session(world, pacing=Pacing.FLOW) as session:
        await held.arrived()
        await session.say("stop")
        held.release()
        await session.result()
        return session.handle.id


async def proposed(theatre: Theatre) -> str:
    """The work is proposed as a pull request."""
    world = World(planned({"id": "a"}, {"id": "b", "depends_on": ["a"]}))
    return await _played(theatre, world, deliver="pull_request")


async def continued(theatre: Theatre) -> str:
    """On a server that suggests it early, session, ledger and agents continue as new."""
    world = World(planned({"id": "a"}, {"id": "b", "depends_on": ["a"]}), Decimal("0.01"))

    def script(call: CallModel) -> list[ToolCall]:
        if call.role is not Role.DEVELOPER:
            return list(world.usual(call))
        if call.turn <= _MANY_TURNS:
            return [tool("bash", command=f"step {call.turn}")]
        return [tool("submit", summary="done")]

    world.script = script
    return await _played(theatre, world, pacing=Pacing.WAVE)


async def told(theatre: Theatre) -> str:
    """A session that tells the person of its plan and of its end."""
    asks = Approvals(plan="ask", changeset="auto_if_green")
    world = World(planned({"id": "a"}))
    async with theatre.session(world, approvals=asks, notify=tuple(NotificationKind)) as session:
        await until(lambda: world.messages.sent, "a message about the plan")
        await session.say("approve_plan", {})
        await ends(session.result(), "the session ends")
        notifier = theatre.client.get_workflow_handle(f"{session.handle.id}/notifier")
        await ends(notifier.result(), "the notifier ends")
        return session.handle.id


async def scheduled(theatre: Theatre) -> str:
    """A schedule fires, and its session runs to the end."""
    world, wanted = World(planned({"id": "a"})), request()
    world.scheduled = SessionMade(request=wanted)
    theatre.worlds |= {"nightly": world, wanted.session: world}
    goal = ScheduledGoal(name="nightly", goal=wanted.goal, repository=wanted.repository)
    await theatre.client.execute_workflow(
        "ScheduledRun", goal, id="schedule/nightly", task_queue=queues.WORKFLOWS
    )
    turn = theatre.client.get_workflow_handle(turn_id(wanted.repository))
    await ends(turn.result(), "the session ends")
    return wanted.workflow_id


async def queued(theatre: Theatre) -> str:
    """A queue works off a goal, and the session's report is written."""
    world, wanted = World(planned({"id": "a"})), request()
    world.scheduled = SessionMade(request=wanted)
    name = queue_id(wanted.repository)
    theatre.worlds |= {name.partition("/")[2]: world, wanted.session: world}
    queue = await theatre.client.start_workflow(
        "GoalQueue",
        QueueRequest(repository=wanted.repository),
        id=name,
        task_queue=queues.WORKFLOWS,
    )
    goal = ScheduledGoal(name="queue", goal=wanted.goal, repository=wanted.repository)
    entry = QueuedGoal(id="0123456789", key="0123456789", goal=goal, added_at=datetime.now(UTC))
    await queue.execute_update("enqueue", Enqueue(entries=(entry,)))

    async def is_done() -> bool:
        return bool((await queue.query("state", result_type=QueueState)).done)

    await until(is_done, "the goal is worked off")
    report = theatre.client.get_workflow_handle(f"{wanted.workflow_id}/report")
    await ends(report.result(), "the report is written")
    await queue.terminate("recorded")
    return wanted.workflow_id


SCENARIOS: tuple[Scenario, ...] = (
    wave,
    flow,
    conflict,
    failure,
    signals,
    earlier_work,
    stopped,
    told,
    proposed,
    scheduled,
    queued,
)
"""On the server as it is."""


async def _played(theatre: Theatre, world: World, **config: Any) -> str:
    async with theatre.session(world, **config) as session:
        await ends(session.result(), "the session ends")
        return session.handle.id


async def _approve_all(session: Playing) -> None:
    """Approve each changeset that waits, until the session ends."""

    async def approved_to_the_end() -> bool:
        for each in (await session.view()).changesets:
            if each.digest is not None:
                with contextlib.suppress(RPCError):  # it may have ended since it was looked at
                    await session.say("approve_changeset", {"id": each.id, "digest": each.digest})
        return (await session.handle.describe()).close_time is not None

    await until(approved_to_the_end, "the session ends")


async def _until(session: Playing, holds: Callable[[SessionView], bool]) -> None:
    async def sees() -> bool:
        return holds(await session.view())

    await until(sees, "the session's view says so")
