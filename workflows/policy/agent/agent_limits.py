"""Where an agent is stopped, by its role and the kind of its task.

Limits are values in the agent's input; `policy.agent` says when one is reached.
"""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import Final, NamedTuple

from workflows.domain.agent.agent_values import AgentLimits
from workflows.domain.agent.model_values import Role
from workflows.domain.plan import Task, TaskKind


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
REVIEWER: Final = _Row(5, Fraction(1, 2), Decimal(2))


def limits_for(role: Role, kind: TaskKind | None, turns: int) -> AgentLimits:
    """Look up an agent's limits.

    Args:
        role: who it plays.
        kind: of its task; None reads as code. Only developers' limits depend on it.
        turns: the session's limit of one agent, ≥ 1.

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
        usd=row.usd,
    )


def most_usd(tasks: Iterable[Task]) -> Decimal:
    """Return the most that one attempt at each task and its review can cost, in USD."""
    return sum((DEVELOPER[task.kind].usd + REVIEWER.usd for task in tasks), Decimal(0))
