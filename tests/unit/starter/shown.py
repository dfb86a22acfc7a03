"""Sessions to show: one builder for the tests of views, decisions and watching."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from starter.sessions.shown_session import ShownSession
from workflows.domain.ids import ChangesetId, Digest, SessionId, TaskId
from workflows.domain.pull_request import PullState
from workflows.domain.session.decision import Decision
from workflows.domain.session.query_answers import ChangesetLine, PullLine, TaskLine
from workflows.domain.session.session_modes import Pacing, SessionPhase
from workflows.domain.task import TaskState

HOSTILE = "[/red] [link=x]y[/link] \u001b[2J \u2713 \u202e <script>alert(1)</script> | `x`"
DIGEST = "0123456789ab" + "c" * 52


def task(name: str, state: TaskState = TaskState.PENDING, **more: Any) -> TaskLine:
    """One task."""
    values: dict[str, Any] = {"attempt": 0, "priority": 0, "title": f"Fix {name}"}
    return TaskLine(id=TaskId(name), state=state, **{**values, **more})


def changeset(name: str, state: str, digest: str | None = DIGEST) -> ChangesetLine:
    """One changeset of one task."""
    return ChangesetLine(
        id=ChangesetId(name),
        state=state,
        digest=Digest(digest) if digest else None,
        tasks=(TaskId(name),),
    )


def pull(number: int, **changes: Any) -> PullLine:
    """One open pull request of a session."""
    url = f"https://github.com/acme/shop/pull/{number}"
    values: dict[str, Any] = {"key": "session", "state": PullState.OPEN, "url": url}
    return PullLine.model_validate({"number": number, **values, **changes})


def session(**changes: Any) -> ShownSession:
    """A running session, changed as said."""
    values: dict[str, Any] = {
        "session": SessionId("01m8fq2y3hnxcqs838w6qy9739"),
        "goal": "Fix the parser",
        "phase": SessionPhase.RUNNING,
        "pacing": Pacing.WAVE,
        "cycle": 2,
        "repository": "/home/p/repo",
        "branch": None,
        "base": None,
        "head": None,
        "sandbox": "bubblewrap 0.8.0",
        "scripted": False,
        "spent_usd": Decimal("1.234"),
        "cap_usd": Decimal(10),
        "tasks": (),
        "changesets": (),
        "notices": (),
        "started_at": datetime(2026, 11, 27, tzinfo=UTC),
        "live": True,
    }
    return ShownSession.model_validate({**values, **changes})


def sent_back(waiting: ShownSession, times: int = 1) -> ShownSession:
    """The session when its planner has made another plan with the same tasks."""
    rejection = Decision(
        what="reject_plan", by="me", source="signal", at=waiting.started_at, count=times
    )
    return waiting.model_copy(update={"decisions": (rejection,)})
