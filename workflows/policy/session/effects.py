"""A decision as it arrives, and what it asks of the session beyond its state.

That is to tell its waves, its ledger or its planner.

A value for each kind. Stopping is none of them: the state's phase says it.
"""

from decimal import Decimal
from typing import Literal, NamedTuple

from pydantic import BaseModel, JsonValue

from workflows.domain.ids import TaskId
from workflows.domain.session.session_state import SessionState


class Steer(BaseModel, frozen=True, extra="forbid"):
    """Tell a task's agent something."""

    task: TaskId
    text: str


class Answer(BaseModel, frozen=True, extra="forbid"):
    """Tell an agent what it asked the person."""

    task: TaskId
    """Its own, or `plan` for the planner."""
    text: str


class TellWaves(BaseModel, frozen=True, extra="forbid"):
    """Signal the waves under way that have agents."""

    signal: Literal["pause", "resume", "proceed"]


class SetCap(BaseModel, frozen=True, extra="forbid"):
    """Tell the ledger another cap."""

    usd: Decimal


class PlanAgain(BaseModel, frozen=True, extra="forbid"):
    """Start a planner."""


Effect = Answer | Steer | TellWaves | SetCap | PlanAgain


class Applied(BaseModel, frozen=True, extra="forbid"):
    """The state after a decision or another change, and what it asks for."""

    state: SessionState
    effects: tuple[Effect, ...] = ()
    refused: str = ""
    """Why nothing was done; the same words are in a notice."""

    def with_state(self, state: SessionState) -> "Applied":
        """Return the same with another state."""
        return Applied(state=state, effects=self.effects, refused=self.refused)


class Sent(NamedTuple):
    """A decision as it arrived: not validated, so that no payload can fail the workflow's task."""

    name: str
    payload: JsonValue = None
    """The first input."""
    inputs: int = 1
    """How many came; only one is understood."""
