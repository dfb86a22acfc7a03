"""How often calls to providers and tools failed: what agents report, and what is kept of it."""

from datetime import datetime
from typing import Self

from pydantic import BaseModel, Field

from workflows.domain.evolution import evolve
from workflows.domain.ids import AgentId


class CallCount(BaseModel, frozen=True, extra="forbid"):
    """Calls of one agent to one subject, since its last report."""

    subject: str = Field(max_length=100)
    """`provider anthropic`, `tool edit`."""
    calls: int = Field(ge=0)
    errors: int = Field(ge=0)
    """Among them."""


class Counted(BaseModel, frozen=True, extra="forbid"):
    """What an agent counted: a message to its ledger."""

    agent: AgentId
    workflow_id: str
    counts: tuple[CallCount, ...] = ()
    since: datetime | None = None
    """When the first of the calls with an error began; None: there is none, or it is not known."""
    resumed: tuple[str, ...] = ()
    """Subjects whose hold a person ended; only from agents that do not know `HoldsEnded`."""


class Hold(BaseModel, frozen=True, extra="forbid"):
    """Wait with what needs a subject; the ledger's signal `hold` to agents."""

    subject: str
    until: datetime


class HoldsEnded(BaseModel, frozen=True, extra="forbid"):
    """A person resumed the session: no hold goes on, and older errors do not count any more."""

    at: datetime


class CountSample(BaseModel, frozen=True, extra="forbid"):
    """The calls of all agents to a subject in a few seconds."""

    at: datetime
    calls: int
    errors: int
    failing: tuple[AgentId, ...] = ()
    """The agents that met an error."""


class CountWindow(BaseModel, frozen=True, extra="forbid"):
    """What the ledger knows of one subject."""

    subject: str
    samples: tuple[CountSample, ...] = ()
    users: dict[AgentId, str] = Field(default_factory=dict[AgentId, str])
    """The agents that used it, with their workflows."""
    held_until: datetime | None = None
    """None: it is not held, and was not lately."""
    last_calls: int = 0
    """In the window that was judged last."""
    last_errors: int = 0

    def ended(self) -> Self:
        """Return it without a hold and with nothing counted; its users stay known."""
        return type(self)(subject=self.subject, users=self.users)

    def noting(self, users: dict[AgentId, str]) -> Self:
        """Return it with these users."""
        return evolve(self, {"users": users})
