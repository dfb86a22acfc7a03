"""What the CLI shows of sessions: the documents of `status --json` and `ls --json`."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel

from workflows.domain.ids import SessionId
from workflows.domain.session.query_answers import SessionView

Outcome = Literal["complete", "incomplete", "stopped", "failed"]


class ProviderWait(BaseModel, frozen=True, extra="forbid"):
    """One call that is repeated later; nothing is billed until then."""

    agent: str
    model: str
    """As `provider/model`; empty if something else failed (for example, a full disk)."""
    until: datetime
    """When the call is repeated."""
    reason: str
    """The provider's message."""


class ShownSession(SessionView, frozen=True, extra="forbid"):
    """A session's view with facts from outside it; the document of `status --json`."""

    live: bool
    """False if no worker answered: then the rest comes from memo and result."""
    outcome: Outcome | None = None
    """None while the session is open."""
    waits: tuple[ProviderWait, ...] = ()
    """Calls that a provider refused for now, the next one to be repeated first. Looked up by
    `status` and `watch`."""

    def with_waits(self, waits: tuple[ProviderWait, ...]) -> "ShownSession":
        """Return the session with the calls that wait for their provider now."""
        return ShownSession.model_validate({**dict(self), "waits": waits})


class SessionSummary(BaseModel, frozen=True, extra="forbid"):
    """One line of `ls`."""

    schema_version: int = 1
    session: SessionId
    goal: str
    repository: str
    status: str
    """`running`, `completed`, `failed`, `terminated` …, as Temporal says."""
    state: str
    """The session's own word: its phase, `waiting` (for a person) or its outcome; `open` if it does
    not answer, and the status if it left no outcome."""
    scripted: bool = False
    """A playbook answers for a role; known if the session answered or left a view."""
    sandbox: str = ""
    """What confines commands, `none` if nothing does; empty if unknown."""
    notice: str = ""
    """Why it cannot go on, if that is known; `status` says what to do."""
    started_at: datetime
    closed_at: datetime | None
