"""What the CLI shows of sessions: the documents of `status --json` and `ls --json`."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel

from workflows.domain.ids import SessionId
from workflows.domain.session import SessionView

Outcome = Literal["complete", "incomplete", "stopped", "failed"]


class ShownSession(SessionView, frozen=True, extra="forbid"):
    """A session's view, and what only the outside knows; the document of `status --json`."""

    live: bool
    """False where no worker answered: the rest is what memo and result hold."""
    outcome: Outcome | None = None
    """None while the session is open."""


class SessionSummary(BaseModel, frozen=True, extra="forbid"):
    """One line of `ls`."""

    schema_version: int = 1
    session: SessionId
    goal: str
    repository: str
    status: str
    """`running`, `completed`, `failed`, `terminated` …, as Temporal says."""
    state: str
    """The session's own word: its phase, `waiting` (for a person) or its outcome; `open` where it
    does not answer, and the status where it left no outcome."""
    started_at: datetime
    closed_at: datetime | None
