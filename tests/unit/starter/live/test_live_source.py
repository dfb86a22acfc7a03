"""What the live view asks of a session: the plan is read again whenever it may be another."""

from pathlib import Path
from typing import Any

from starter.live.live_source import SessionSource
from starter.sessions.running_agents import Work
from tests.unit.policy.examples import a_plan, a_task
from tests.unit.starter.shown import sent_back, session, task
from workers.settings import Settings
from workflows.domain.agent.agent_settings import AgentSettings
from workflows.domain.plan import Plan
from workflows.domain.session.session_modes import SessionPhase

WAITING = session(phase=SessionPhase.AWAITING_PLAN, tasks=(task("a"),))
PLANNING = session(phase=SessionPhase.PLANNING)


class Planned:
    """A session whose plans have the same task, with other claims each time."""

    def __init__(self) -> None:
        self.plan_now = planned("first")

    async def plan(self, _session: str) -> Plan:
        return self.plan_now

    async def agents(self, _session: str) -> AgentSettings:
        return AgentSettings()

    async def waits(self, _session: str) -> tuple[()]:
        return ()

    async def work(self, _session: str) -> Work:
        return Work()


def planned(claim: str) -> Plan:
    return a_plan(a_task("a", claims=(claim,)))


def source_of(sessions: Planned, data_dir: Path) -> SessionSource:
    given: Any = sessions
    return SessionSource(given, WAITING.session, Settings(data_dir=data_dir))


async def test_the_plan_after_a_second_rejection_in_the_same_words_is_read(tmp_path: Path) -> None:
    sessions = Planned()
    source = source_of(sessions, tmp_path)
    for times, claim in enumerate(("first", "second", "third")):
        sessions.plan_now = planned(claim)
        look = sent_back(WAITING, times) if times else WAITING
        assert (await source.known(look)).plan == planned(claim)


async def test_a_plan_that_was_sent_back_is_not_shown_as_the_next_one(tmp_path: Path) -> None:
    source = source_of(Planned(), tmp_path)
    assert (await source.known(WAITING)).plan is not None
    assert (await source.known(PLANNING)).plan is None
