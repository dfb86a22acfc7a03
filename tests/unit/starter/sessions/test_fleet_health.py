"""`health`: what is not well, and what it says of it."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from starter.sessions.fleet_health import Health, health
from starter.views import health_words
from workers.telemetry.fleet import Fleet, OpenSession, PendingWork, Poller, QueueState
from workflows.domain.ids import SessionId
from workflows.domain.session.query_answers import SessionView
from workflows.domain.session.session_modes import Pacing, SessionPhase

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
PLENTY = 50_000_000_000
ROLES = ("workflows", "models", "host", "land")


def queue(name: str, seen_s: int | None = 10, backlog: int = 0) -> QueueState:
    """Return a queue whose only worker asked so many seconds ago; None: it has none."""
    seen = () if seen_s is None else (timedelta(seconds=seen_s),)
    return QueueState(
        queue=name,
        backlog=backlog,
        pollers=tuple(
            Poller(identity="7@here blueflame/1.2.3", last_seen=NOW - each) for each in seen
        ),
    )


def session(
    phase: SessionPhase | None = SessionPhase.RUNNING,
    *pending: PendingWork,
    idle: timedelta = timedelta(minutes=1),
    reason: str = "",
) -> OpenSession:
    """Return a session; without a phase no worker answers for it."""
    view = None if phase is None else _view(phase, reason)
    return OpenSession(
        session="s1",
        view=view,
        ledger=None,
        last_own_event=NOW - idle,
        last_event=NOW - idle,
        pending=pending,
    )


def _view(phase: SessionPhase, reason: str) -> SessionView:
    return SessionView(
        session=SessionId("s1"),
        goal="a goal",
        phase=phase,
        reason=reason,
        pacing=Pacing.WAVE,
        cycle=1,
        repository="/r",
        branch=None,
        base=None,
        head=None,
        sandbox="",
        scripted=False,
        spent_usd=Decimal(0),
        cap_usd=Decimal(1),
        tasks=(),
        changesets=(),
        notices=(),
        started_at=NOW,
    )


def work(activity: str, attempt: int, again_s: int | None = 60) -> PendingWork:
    """Return an activity that has failed; None: it runs again now."""
    again = None if again_s is None else NOW + timedelta(seconds=again_s)
    return PendingWork(
        workflow="session/s1/1/develop/dev.a.1",
        activity=activity,
        attempt=attempt,
        failure="no space",
        model="a/m" if activity == "models.call" else "",
        again_at=again,
    )


def judged(*sessions: OpenSession, free: int = PLENTY, **queues: QueueState) -> Health:
    """Judge a fleet in which all is well apart from what is given."""
    every = [queues.get(role, queue(role)) for role in ROLES]
    own = [each for name, each in queues.items() if name not in ROLES]
    return health(Fleet(at=NOW, queues=(*every, *own), sessions=sessions), "here:7233", free)


LONG = timedelta(hours=3)
WELL = {
    "nothing to do": judged(),
    "work goes on": judged(session()),
    "a person is waited for": judged(session(SessionPhase.AWAITING_PLAN, idle=LONG)),
    "paused": judged(session(SessionPhase.PAUSED, idle=LONG, reason="the cap")),
    "a provider is waited for": judged(
        session(SessionPhase.RUNNING, work("models.call", 9), idle=LONG)
    ),
    "one failure": judged(session(SessionPhase.RUNNING, work("tools.run", 2))),
    "a host left, and nothing waits for it": judged(old=queue("host/old", None)),
}
PROBLEMS = {
    "role 'models' is running": judged(models=queue("models", None)),
    "none of role 'land'": judged(land=queue("land", 200)),
    "40 pieces of work wait in queue 'host'": judged(host=queue("host", 5, 40)),
    "none of host 'old'": judged(old=queue("host/old", 200, 1)),
    "only 4.0 GB are free": judged(free=4_000_000_000),
    "session s1: no worker answers": judged(session(None)),
    "tools.run has failed 2 times: no space": judged(
        session(SessionPhase.RUNNING, work("tools.run", 3))
    ),
    "nothing has happened for 180 minutes": judged(session(idle=LONG)),
}


@pytest.mark.parametrize("found", WELL.values(), ids=WELL.keys())
def test_all_is_well(found: Health) -> None:
    assert found.problems == ()
    assert found.is_well
    assert health_words.lines(found)[-1] == "all is well"


@pytest.mark.parametrize(("words", "found"), PROBLEMS.items(), ids=PROBLEMS.keys())
def test_a_problem_is_named(words: str, found: Health) -> None:
    (problem,) = found.problems
    assert words in problem
    assert not found.is_well
    assert health_words.lines(found)[-1] == f"PROBLEM    {problem}"


def test_the_lines_show_versions_and_what_a_session_waits_for() -> None:
    held = session(SessionPhase.PAUSED, work("models.call", 2), reason="the cap is reached")
    found = judged(held, land=queue("land", 200))
    text = "\n".join(health_words.lines(found))
    assert "Queue      models: 1 workers, 0 waiting" in text
    assert "7@here blueflame/1.2.3, seen 10 s ago" in text
    assert "seen 200 s ago, gone" in text
    assert "waits for you: paused: the cap is reached" in text
    assert "waits for a/m until 2026-11-01 12:01:00 UTC: no space" in text
    assert found.queues[0].workers[0].version == "1.2.3"
