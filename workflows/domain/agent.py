"""One agent: its limits, how it can end, and its worktree."""

from datetime import timedelta
from decimal import Decimal
from enum import StrEnum

from pydantic import BaseModel, Field

from workflows.domain.ids import AgentId, SessionId


class AgentLimits(BaseModel, frozen=True, extra="forbid"):
    """Where an agent is stopped; at 80 % of any of them it is told to wrap up."""

    turns: int = Field(gt=0)
    wall: timedelta
    usd: Decimal = Field(ge=0)


class AgentEnd(StrEnum):
    """How an agent ended."""

    SUBMITTED = "submitted"
    TURN_LIMIT = "turn_limit"
    TIME_LIMIT = "time_limit"
    BUDGET = "budget"
    STUCK = "stuck"
    REFUSAL = "refusal"
    SILENCE = "silence"
    STOPPED = "stopped"
    PROVIDER = "provider"
    """The provider could not be used: key, credit, or a request that it will not take."""


class WorktreeRef(BaseModel, frozen=True, extra="forbid"):
    """Names one agent's worktree; the host derives paths and refs from it."""

    session: SessionId
    agent: AgentId
    repository: str
    """The repository's key on the host: a digest of its resolved path."""
    writable: bool
