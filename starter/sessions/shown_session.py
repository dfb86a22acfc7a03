"""What the CLI shows of sessions: the documents of `status --json` and `ls --json`."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel

from workflows.domain.ids import SessionId
from workflows.domain.session.session_values import SessionView

Outcome = Literal["complete", "incomplete", "stopped", "failed"]


class ProviderWait(BaseModel, frozen=True, extra="forbid"):
    """One call that is asked again later; nothing is billed until then."""

    agent: str
    model: str
    """As `provider/model`; empty where it was not the provider that failed (a full disk, say)."""
    until: datetime
    """When it is asked again."""
    reason: str
    """What the provider said."""


class ShownSession(SessionView, frozen=True, extra="forbid"):
    """A session's view, and what only the outside knows; the document of `status --json`."""

    live: bool
    """False where no worker answered: the rest is what memo and result hold."""
    outcome: Outcome | None = None
    """None while the session is open."""
    waits: tuple[ProviderWait, ...] = ()
    """Calls that a provider refused for now, the one that is asked again first before the others.
    Looked up by `status` and `watch`."""

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
    """The session's own word: its phase, `waiting` (for a person) or its outcome; `open` where it
    does not answer, and the status where it left no outcome."""
    scripted: bool = False
    """A playbook speaks; as far as the session answered, or left a picture."""
    sandbox: str = ""
    """What confines commands, `none` where nothing does; empty where it is not known."""
    started_at: datetime
    closed_at: datetime | None
