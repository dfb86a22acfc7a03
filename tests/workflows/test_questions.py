"""Questions of agents: asked once, answered by a person, and no agent waits for no one."""

from collections.abc import Callable, Sequence
from datetime import timedelta

import pytest

from starter.console.command_errors import CommandError
from starter.sessions.session_client import Sessions
from tests.fakes.world import World, planned, tool
from tests.theatre import Theatre, played, scheduled, states
from workflows.contracts.model_contracts import CallModel
from workflows.domain.agent.agent_values import AgentState
from workflows.domain.agent.messages import ToolCall
from workflows.domain.agent.model_values import Role
from workflows.domain.ids import SessionId
from workflows.domain.session.notice import NoticeKind
from workflows.domain.session.query_answers import SessionView
from workflows.domain.session.session_config import Approvals

pytestmark = pytest.mark.asyncio(loop_scope="session")

ATTENDED = Approvals(plan="auto", changeset="auto_if_green")
UNATTENDED = Approvals(plan="auto", changeset="auto_if_green", questions="auto")
WHICH = tool("ask", question="Which rounding?")


def asking(role: Role, *turns: Sequence[ToolCall]) -> World:
    """A world whose agents of a role first play these turns."""
    world = World(planned({"id": "a"}))

    def script(call: CallModel) -> Sequence[ToolCall]:
        if call.role is role and call.turn <= len(turns):
            return turns[call.turn - 1]
        return list(world.usual(call))

    world.script = script
    return world


def asks(about: str) -> Callable[[SessionView], bool]:
    return lambda view: [each.about for each in view.questions] == [about]


@pytest.mark.parametrize(
    ("role", "about", "agent"),
    [
        (Role.DEVELOPER, "a", "dev.a.1"),
        pytest.param(Role.PLANNER, "plan", "plan.1", marks=pytest.mark.slow),
    ],
)
async def test_a_question_waits_for_the_persons_answer(
    theatre: Theatre, role: Role, about: str, agent: str
) -> None:
    world = asking(role, [tool("read", path="x"), WHICH])
    sessions = Sessions(theatre.client)
    async with theatre.session(world, approvals=ATTENDED) as playing:
        view = await playing.until(asks(about))
        assert (view.questions[0].agent, view.questions[0].text) == (agent, "Which rounding?")
        assert [n.text for n in view.notices if n.kind is NoticeKind.QUESTION] == [
            f"{agent} asks: Which rounding?"
        ]
        session = SessionId(playing.handle.id.removeprefix("session/"))
        with pytest.raises(CommandError, match=f"questions wait of: {about}"):
            await sessions.decide(session, "answer", {"id": "other", "text": "x"})
        assert not [call for call in world.calls if call.agent == agent and call.turn > 1]
        done = await sessions.decide(
            session, "answer", {"id": about, "text": "Half up.", "by": "p"}
        )
        assert done.decision == "answer"
        result = await playing.result()
        assert (await playing.view()).questions == ()
    assert states(result) == {"a": ("merged", 1)}
    heard = world.heard(agent, 2)
    assert "The person who leads this project answers:" in heard
    assert "Half up." in heard
    assert "answer" in [each.what for each in result.decisions]


@pytest.mark.slow
async def test_the_wait_is_not_the_agents_time_and_runs_no_activity(theatre: Theatre) -> None:
    world = asking(Role.DEVELOPER, [WHICH])
    async with theatre.session(world, approvals=ATTENDED) as playing:
        view = await playing.until(asks("a"))
        name = f"{playing.handle.id}/{view.cycle}/develop/dev.a.1"
        agent = theatre.client.get_workflow_handle(name)
        before = await scheduled(agent)
        state = await agent.query("state", result_type=AgentState)
        assert state.questions == 1
        description = await agent.describe()
        assert list(description.raw_description.pending_activities) == []
        await playing.say("answer", {"id": "a", "text": "Half up."})
        assert (await playing.result()).outcome == "complete"
        ended = await agent.query("state", result_type=AgentState)
        assert ended.paused > timedelta(0)
        assert len(before) == 1


@pytest.mark.slow
async def test_a_second_question_is_not_put_to_the_person(theatre: Theatre) -> None:
    again = tool("ask", question="And which currency?")
    world = asking(Role.DEVELOPER, [WHICH], [again], [tool("ask", question=" ")])
    async with theatre.session(world, approvals=ATTENDED) as playing:
        await playing.until(asks("a"))
        await playing.say("answer", {"id": "a", "text": "Half up."})
        assert (await playing.result()).outcome == "complete"
    assert "you have asked your one question" in world.heard("dev.a.1", 3)
    assert "`question` is missing" in world.heard("dev.a.1", 4)


@pytest.mark.slow
async def test_where_no_one_is_there_the_agent_decides_itself_at_once(theatre: Theatre) -> None:
    world = asking(Role.DEVELOPER, [WHICH])
    result = await played(theatre, world, approvals=UNATTENDED)
    assert states(result) == {"a": ("merged", 1)}
    assert "Decide yourself, and say in your submission" in world.heard("dev.a.1", 2)


@pytest.mark.parametrize("signal", ["skip_task", "stop"])
@pytest.mark.slow
async def test_an_open_question_ends_with_task_or_session(theatre: Theatre, signal: str) -> None:
    world = asking(Role.DEVELOPER, [WHICH])
    async with theatre.session(world, approvals=ATTENDED) as playing:
        await playing.until(asks("a"))
        await playing.say(signal, {"id": "a"} if signal == "skip_task" else {})
        result = await playing.result()
        assert (await playing.view()).questions == ()
    assert states(result)["a"][0] == ("skipped" if signal == "skip_task" else "cancelled")


@pytest.mark.slow
async def test_a_pause_during_a_question_holds_after_the_answer(theatre: Theatre) -> None:
    world = asking(Role.DEVELOPER, [WHICH])
    async with theatre.session(world, approvals=ATTENDED) as playing:
        await playing.until(asks("a"))
        await playing.say("pause")
        await playing.say("answer", {"id": "a", "text": "Half up."})
        await playing.until(lambda view: view.phase == "paused" and view.questions == ())
        await playing.say("resume")
        assert (await playing.result()).outcome == "complete"


@pytest.mark.slow
async def test_a_question_that_no_agent_asked_is_a_notice(theatre: Theatre) -> None:
    world = asking(Role.DEVELOPER, [WHICH])
    async with theatre.session(world, approvals=ATTENDED) as playing:
        await playing.until(asks("a"))
        await playing.say("question_asked", {"text": 1})
        view = await playing.until(
            lambda view: "question_asked" in [each.subject for each in view.notices]
        )
        assert len(view.questions) == 1
        await playing.say("answer", {"id": "a", "text": "Half up."})
        assert (await playing.result()).outcome == "complete"
