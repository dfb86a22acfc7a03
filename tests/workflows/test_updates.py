"""`sent_decisions` and a session: a refusal is reported to its sender."""

import asyncio
import sys
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import pytest

from starter.console.command_errors import CommandError
from starter.console.exit_codes import ExitCode
from starter.decisions import decision_checks
from starter.sessions.sent_decisions import execute, send
from starter.sessions.session_client import Sessions
from tests.e2e.processes import environment
from tests.fakes.world import World, planned
from tests.theatre import Theatre
from tests.waiting import ends
from workers.settings import Settings
from workflows.contracts.model_contracts import CallModel, ModelOutcome
from workflows.domain.ids import SessionId
from workflows.domain.session.decision import DecisionOutcome
from workflows.domain.session.decision_inputs import RetryTask, SetPriority

pytestmark = pytest.mark.asyncio(loop_scope="session")
AUTO: dict[str, Any] = {"approvals": {"plan": "auto", "changeset": "auto_if_green"}}
ASK: dict[str, Any] = {"approvals": {"plan": "ask", "changeset": "ask"}}


@pytest.mark.slow
async def test_a_refusal_is_said_at_once_and_again(theatre: Theatre) -> None:
    world = World(planned({"id": "a"}))
    go_on = asyncio.Event()

    def on_call(call: CallModel) -> Awaitable[ModelOutcome | None] | None:
        async def wait() -> ModelOutcome | None:
            await go_on.wait()
            return None

        return wait() if call.agent == "dev.a.1" else None

    world.on_call = on_call
    sessions = Sessions(theatre.client)
    async with theatre.session(world, **AUTO) as playing:
        session = SessionId(playing.handle.id.removeprefix("session/"))
        await playing.until(lambda view: bool(view.tasks) and view.tasks[0].state == "developing")
        await send(sessions, await sessions.view(session), "set_priority", SetPriority(id="a", n=3))
        for _ in range(2):
            view = await sessions.view(session)
            with pytest.raises(CommandError, match="only an ended task can be retried") as refused:
                await send(sessions, view, "retry_task", RetryTask(id="a"))
            assert refused.value.code == ExitCode.STALE
        await playing.say("sing", {"song": "x"})
        heard = await playing.until(lambda view: "sing" in [n.subject for n in view.notices])
        assert "there is no signal 'sing'; the signals are approve_plan" in heard.notices[-1].text
        go_on.set()
        assert (await playing.result()).outcome == "complete"


async def test_who_decides_second_is_told(theatre: Theatre) -> None:
    sessions = Sessions(theatre.client)
    async with theatre.session(World(planned({"id": "a"})), **ASK) as playing:
        session = SessionId(playing.handle.id.removeprefix("session/"))
        await playing.until(lambda view: view.phase == "awaiting_plan" and bool(view.tasks))
        view = await sessions.view(session)
        decision = decision_checks.approval(decision_checks.plan(view), "me")
        await send(sessions, view, *decision)
        with pytest.raises(CommandError, match="the plan is approved already") as refused:
            await send(sessions, view, *decision)
        assert refused.value.code == ExitCode.STALE
        await playing.say("stop")
        assert (await playing.result()).outcome == "stopped"


async def test_two_who_decide_at_once_each_get_their_own_answer(theatre: Theatre) -> None:
    sessions = Sessions(theatre.client)
    async with theatre.session(World(planned({"id": "a"})), **ASK) as playing:
        session = SessionId(playing.handle.id.removeprefix("session/"))
        await playing.until(lambda view: view.phase == "awaiting_plan" and bool(view.tasks))
        answers = await asyncio.gather(
            sessions.decide(session, "approve_plan", {"by": "ann"}),
            sessions.decide(session, "approve_plan", {"by": "bob"}),
            sessions.decide(session, "set_priority", {"id": "a", "n": 3}),
            sessions.decide(session, "skip_task", {"id": "nope"}),
            return_exceptions=True,
        )
        refused = [str(each) for each in answers if isinstance(each, CommandError)]
        approved = [each for each in answers[:2] if isinstance(each, DecisionOutcome)]
        assert [each.decision for each in approved] == ["approve_plan"]
        assert isinstance(answers[2], DecisionOutcome)
        assert (answers[2].decision, answers[2].subject) == ("set_priority", "a")
        assert len(refused) == 2
        assert any("the plan is approved already" in each for each in refused)
        assert "'nope'" in str(answers[3])
        await playing.say("stop")
        assert (await playing.result()).outcome == "stopped"


async def _type(settings: Settings, server: str, *arguments: str) -> tuple[int, str]:
    """Run one command in a process of its own; return its exit code and what it said."""
    started = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "starter", *arguments),
        env=environment(settings, TEMPORAL_ADDRESS=server),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await ends(started.communicate(), f"the end of {arguments}")
    return started.returncode or 0, said.decode()


async def test_two_command_lines_at_once_each_say_what_came_of_their_own_act(
    theatre: Theatre, tmp_path: Path
) -> None:
    server = theatre.client.service_client.config.target_host
    settings = Settings(data_dir=tmp_path / "data")
    async with theatre.session(World(planned({"id": "a"})), **ASK) as playing:
        session = playing.handle.id.removeprefix("session/")
        await playing.until(lambda view: view.phase == "awaiting_plan" and bool(view.tasks))
        at = ("--session", session)
        (raised, saw), (retried, refused) = await asyncio.gather(
            _type(settings, server, "priority", "a", "3", *at),
            _type(settings, server, "retry", "a", *at),
        )
        assert (raised, retried) == (ExitCode.COMPLETE, ExitCode.STALE), (saw, refused)
        assert "only an ended task can be retried" in refused
        assert (await playing.view()).tasks[0].priority == 3
        await playing.say("stop")
        assert (await playing.result()).outcome == "stopped"


async def test_a_repeated_update_has_one_effect(theatre: Theatre) -> None:
    async with theatre.session(World(planned({"id": "a"})), **ASK) as playing:
        await playing.until(lambda view: view.phase == "awaiting_plan" and bool(view.tasks))
        handle = playing.handle
        once = await execute(handle, "set_priority", {"id": "a", "n": 3}, "update-1")
        await execute(handle, "set_priority", {"id": "a", "n": 5}, "update-2")
        again = await execute(handle, "set_priority", {"id": "a", "n": 3}, "update-1")
        view = await playing.view()
        assert (again, view.tasks[0].priority) == (once, 5)
        await playing.say("stop")
        assert (await playing.result()).outcome == "stopped"


async def test_a_refused_update_changes_nothing(theatre: Theatre) -> None:
    async with theatre.session(World(planned({"id": "a"})), **ASK) as playing:
        before = await playing.until(lambda v: v.phase == "awaiting_plan" and bool(v.tasks))
        for name, payload in (
            ("approve_changeset", {"id": "c1", "digest": "0" * 64}),
            ("retry_task", {"id": "a"}),
            ("set_budget", {"usd": "lots"}),
            ("steer_task", {"id": "a"}),
            ("skip_task", ["a"]),
        ):
            with pytest.raises(CommandError, match="the session says: "):
                await execute(playing.handle, name, payload)
        after = await playing.view()
        for field in ("phase", "tasks", "changesets", "decisions", "notices", "cap_usd"):
            assert getattr(after, field) == getattr(before, field), field
        await playing.say("stop")
        assert (await playing.result()).outcome == "stopped"


async def test_an_update_is_answered_also_where_the_session_ends(theatre: Theatre) -> None:
    async with theatre.session(World(planned({"id": "a"})), **ASK) as playing:
        await playing.until(lambda view: view.phase == "awaiting_plan" and bool(view.tasks))
        stopped = await execute(playing.handle, "stop", {"by": "ann"})
        assert stopped == DecisionOutcome(decision="stop", state="stopping")
        assert (await playing.result()).outcome == "stopped"
        with pytest.raises(CommandError, match="has ended or does not exist; nothing was sent"):
            await execute(playing.handle, "pause", {})


@pytest.mark.slow
async def test_an_update_repeated_after_a_continuation_has_one_effect(theatre: Theatre) -> None:
    world = World(planned({"id": "a"}))
    async with theatre.session(world, waves_per_run=1, **ASK) as playing:
        await playing.until(lambda view: view.phase == "awaiting_plan" and bool(view.tasks))
        handle = playing.handle
        first_run = (await handle.describe()).run_id
        once = await execute(handle, "set_priority", {"id": "a", "n": 3}, "update-1")
        await execute(handle, "approve_plan", {"by": "ann"})
        await playing.until(lambda v: [c.state for c in v.changesets] == ["awaiting_approval"])
        assert (await handle.describe()).run_id != first_run
        again = await execute(handle, "set_priority", {"id": "a", "n": 3}, "update-1")
        view = await playing.view()
        assert again == once
        assert [each.what for each in view.decisions] == ["set_priority", "approve_plan"]
        await playing.say("stop")
        assert (await playing.result()).outcome == "stopped"
