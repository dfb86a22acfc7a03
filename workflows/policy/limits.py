"""Where an agent is stopped, by its role and the kind of its task, and when it must wrap up.

Limits are values in the agent's input; the agent's workflow measures and acts. Does not know what
progress is.
"""

from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import Final, NamedTuple

from workflows.domain.agent import AgentEnd, AgentLimits
from workflows.domain.models import Role
from workflows.domain.plan import TaskKind

WRAP_UP: Final = Fraction(8, 10)


class _Row(NamedTuple):
    minutes: int
    turns: Fraction
    """Of the session's `turns`."""
    usd: Decimal


DEVELOPER: Final[Mapping[TaskKind, _Row]] = MappingProxyType(
    {
        TaskKind.DOCS: _Row(10, Fraction(1, 2), Decimal(1)),
        TaskKind.TESTS: _Row(15, Fraction(1), Decimal(2)),
        TaskKind.CODE: _Row(20, Fraction(1), Decimal(3)),
        TaskKind.REFACTOR: _Row(25, Fraction(1), Decimal(3)),
        TaskKind.SECURITY: _Row(25, Fraction(1), Decimal(4)),
        TaskKind.ARCHITECTURE: _Row(30, Fraction(1), Decimal(4)),
    }
)
PLANNER: Final = _Row(15, Fraction(1), Decimal(3))
REVIEWER: Final = _Row(5, Fraction(1, 2), Decimal(1))


def limits_for(
    role: Role, kind: TaskKind | None, turns: int, cap_usd: Decimal | None = None
) -> AgentLimits:
    """Look up an agent's limits.

    Args:
        role: who it plays.
        kind: of its task; None reads as code. Only developers' limits depend on it.
        turns: the session's limit of one agent, ≥ 1.
        cap_usd: what the session may spend; an agent's limit is never above. None: no such cap.

    Returns:
        Turns, wall time (5 to 30 minutes) and money.
    """
    rows = {
        Role.PLANNER: PLANNER,
        Role.REVIEWER: REVIEWER,
        Role.DEVELOPER: DEVELOPER[kind or TaskKind.CODE],
    }
    row = rows[role]
    return AgentLimits(
        turns=max(1, int(turns * row.turns)),
        wall=timedelta(minutes=row.minutes),
        usd=row.usd if cap_usd is None else min(row.usd, cap_usd),
    )


def wrap_up_due(limits: AgentLimits, turns: int, elapsed: timedelta, spent_usd: Decimal) -> bool:
    """Tell whether 80 % of any limit is used, so that the agent is told to finish.

    Args:
        limits: the agent's.
        turns: turns done.
        elapsed: wall time used.
        spent_usd: money spent; a free model never nears its limit.
    """
    return _reached(limits, turns, elapsed, spent_usd, WRAP_UP) is not None


def limit_reached(
    limits: AgentLimits, turns: int, elapsed: timedelta, spent_usd: Decimal
) -> AgentEnd | None:
    """Name the limit that is used up, by which the agent ends; None while it may go on."""
    return _reached(limits, turns, elapsed, spent_usd, Fraction(1))


def _reached(
    limits: AgentLimits, turns: int, elapsed: timedelta, spent_usd: Decimal, part: Fraction
) -> AgentEnd | None:
    if turns >= limits.turns * part:
        return AgentEnd.TURN_LIMIT
    if elapsed * part.denominator >= limits.wall * part.numerator:
        return AgentEnd.TIME_LIMIT
    if spent_usd > 0 and spent_usd * part.denominator >= limits.usd * part.numerator:
        return AgentEnd.BUDGET
    return None
