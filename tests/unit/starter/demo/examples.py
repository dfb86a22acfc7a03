"""Values that several tests of the demo need."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from starter.sessions.shown_session import ShownSession
from workflows.domain.ids import SessionId
from workflows.domain.session.session_modes import Pacing, SessionPhase

SESSION = SessionId("s1")


def view(**facts: Any) -> ShownSession:
    """Return a session's picture; running, without tasks, unless `facts` say otherwise."""
    usual: dict[str, Any] = {
        "session": SESSION,
        "goal": "Finish",
        "phase": SessionPhase.RUNNING,
        "pacing": Pacing.WAVE,
        "cycle": 1,
        "repository": "/r",
        "branch": None,
        "base": None,
        "head": None,
        "sandbox": "bubblewrap",
        "scripted": True,
        "spent_usd": Decimal("0.16"),
        "cap_usd": Decimal(10),
        "tasks": (),
        "changesets": (),
        "notices": (),
        "started_at": datetime(2026, 11, 1, tzinfo=UTC),
        "live": True,
    }
    return ShownSession.model_validate(usual | facts)
