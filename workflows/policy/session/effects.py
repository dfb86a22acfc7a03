"""A decision as it arrives, and its effects outside the session's state.

Effects signal waves, the ledger or an agent, or start a planner. Each kind has its own value.
Stopping has none: the state's phase expresses it.
"""

from decimal import Decimal
from typing import Literal, NamedTuple

from pydantic import BaseModel, JsonValue

from workflows.domain.ids import TaskId
from workflows.domain.session.earlier_work import HostAnswer, HostQuestion
from workflows.domain.session.session_state import SessionState


class Steer(BaseModel, frozen=True, extra="forbid"):
    """Send a message to a task's agent."""

    task: TaskId
    text: str


class Answer(BaseModel, frozen=True, extra="forbid"):
    """Send an agent the answer to its question."""

    task: TaskId
    """The task's id, or `plan` for the planner."""
    text: str


class TellWaves(BaseModel, frozen=True, extra="forbid"):
    """Signal the running waves that have agents."""

    signal: Literal["pause", "resume", "proceed", "report"]


class EndHolds(BaseModel, frozen=True, extra="forbid"):
    """Tell the ledger that a person let all agents go on that wait because of errors."""


class SetCap(BaseModel, frozen=True, extra="forbid"):
    """Send the ledger another cap."""

    usd: Decimal


class PlanAgain(BaseModel, frozen=True, extra="forbid"):
    """Start a planner."""


Effect = Answer | Steer | TellWaves | EndHolds | SetCap | PlanAgain


class Applied(BaseModel, frozen=True, extra="forbid"):
    """The state after a decision or another change, and the effects to carry out."""

    state: SessionState
    effects: tuple[Effect, ...] = ()
    refused: str = ""
    """Why nothing was done; a notice has the same text."""
    told: str = ""
    """What else its sender is told."""
    asks: HostQuestion | None = None
    """What a host must answer first. The decision is then judged again, with the answer; until then
    nothing has changed."""

    def with_state(self, state: SessionState) -> "Applied":
        """Return the same with another state."""
        return Applied(
            state=state,
            effects=self.effects,
            refused=self.refused,
            told=self.told,
            asks=self.asks,
        )


class Sent(NamedTuple):
    """A decision as it arrived: not validated, so that no payload can fail the workflow task."""

    name: str
    payload: JsonValue = None
    """The first input."""
    inputs: int = 1
    """How many inputs came; only one is valid."""
    found: HostAnswer | None = None
    """What a host answered about it; never the sender's own."""

    def with_found(self, found: HostAnswer) -> "Sent":
        """Return the decision with a host's answer."""
        return self._replace(found=found)
