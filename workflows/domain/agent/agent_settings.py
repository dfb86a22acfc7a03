"""What a person sets for agents, by role and kind of task.

`policy.agent.agent_limits` computes one agent's limits from it.
"""

from datetime import timedelta
from decimal import Decimal
from typing import Literal, Self

from pydantic import BaseModel, Field

from workflows.domain.agent.model_values import Role
from workflows.domain.plan import TaskKind

Effort = Literal["low", "medium", "high", "xhigh"]
"""How much a model thinks; each provider has its own names for these levels."""


class LimitSettings(BaseModel, frozen=True, extra="forbid"):
    """Limits of one agent; None: not set here."""

    turns: int | None = Field(default=None, ge=1, le=1_000)
    time: timedelta | None = Field(default=None, gt=timedelta(0), le=timedelta(hours=24))
    """Total time, without pauses."""
    stall_time: timedelta | None = Field(default=None, gt=timedelta(0), le=timedelta(hours=24))
    """Time without progress; any progress restarts it."""
    usd: Decimal | None = Field(default=None, ge=0, le=1_000_000, allow_inf_nan=False)
    output_tokens: int | None = Field(default=None, ge=1_000, le=128_000)
    """Tokens of one answer, reasoning included; a model's own limit may be lower. Doubled once for
    an agent of which an answer was cut there."""
    effort: Effort | None = None
    """None: the provider's default."""

    def over(self, below: "LimitSettings") -> "LimitSettings":
        """Return these limits; those not set come from `below`."""
        said = {**_said(below), **_said(self)}
        return LimitSettings.model_validate(said)


class RoleSettings(LimitSettings, frozen=True, extra="forbid"):
    """Limits of all agents of a role, and exceptions by the kind of their task."""

    kinds: dict[TaskKind, LimitSettings] = Field(default_factory=dict[TaskKind, LimitSettings])

    def of(self, kind: TaskKind) -> LimitSettings:
        """Return what applies to a kind of task."""
        return self.kinds.get(kind, LimitSettings()).over(self)

    def over_role(self, below: "RoleSettings") -> Self:
        """Return these limits; those not set come from `below`, also for each kind."""
        nothing = LimitSettings()
        kinds = {
            kind: self.kinds.get(kind, nothing).over(below.kinds.get(kind, nothing))
            for kind in sorted({*self.kinds, *below.kinds})
        }
        return self.model_validate({**_said(below), **_said(self), "kinds": kinds})


def _said(limits: LimitSettings) -> dict[str, object]:
    fields = LimitSettings.model_fields
    said = {name: getattr(limits, name) for name in fields}
    return {name: value for name, value in said.items() if value is not None}


_OUTPUT_TOKENS = 16_000
"""Enough for a large file; the quote of each call includes all of them."""


class AgentSettings(BaseModel, frozen=True, extra="forbid"):
    """Limits of every agent; turns that are not set here come from the session."""

    planner: RoleSettings = RoleSettings(
        time=timedelta(minutes=45),
        stall_time=timedelta(minutes=20),
        usd=Decimal(5),
        output_tokens=_OUTPUT_TOKENS,
    )
    developer: RoleSettings = RoleSettings(
        time=timedelta(hours=2),
        stall_time=timedelta(minutes=45),
        usd=Decimal(5),
        output_tokens=_OUTPUT_TOKENS,
        kinds={
            TaskKind.DOCS: LimitSettings(
                time=timedelta(hours=1), stall_time=timedelta(minutes=30), usd=Decimal(2)
            )
        },
    )
    reviewer: RoleSettings = RoleSettings(
        time=timedelta(minutes=30),
        stall_time=timedelta(minutes=15),
        usd=Decimal(3),
        output_tokens=_OUTPUT_TOKENS,
    )

    def of(self, role: Role) -> RoleSettings:
        """Return the limits of a role."""
        match role:
            case Role.PLANNER:
                return self.planner
            case Role.DEVELOPER:
                return self.developer
            case Role.REVIEWER:
                return self.reviewer
