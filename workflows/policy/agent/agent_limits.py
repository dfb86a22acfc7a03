"""Where an agent is stopped, by its role and the kind of its task.

Limits are values in the agent's input; `turn_decisions` decides when one is reached.
"""

from collections.abc import Iterable
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Final

from workflows.domain.agent.agent_settings import AgentSettings
from workflows.domain.agent.agent_values import AgentLimits
from workflows.domain.agent.model_values import Role
from workflows.domain.plan import Task, TaskKind

_DEFAULTS: Final = AgentSettings()
_SHORT: Final = Fraction(1, 2)
"""The part of the session's `turns` for roles and kinds that need fewer."""


def limits_for(
    role: Role, kind: TaskKind | None, settings: AgentSettings, turns: int
) -> AgentLimits:
    """Return an agent's limits.

    | set for the kind  | set for the role  | limit                                         |
    |-------------------|-------------------|-----------------------------------------------|
    | yes               |                   | the kind's                                    |
    | no                | yes               | the role's                                    |
    | no                | no                | the default; of turns the session's, and half |
    |                   |                   | of them for reviewers and tasks of kind docs  |

    Args:
        role: the agent's role.
        kind: the kind of its task; None counts as code.
        settings: what a person set; missing values come from the defaults.
        turns: the session's limit for one agent, ≥ 1.
    """
    kind = kind or TaskKind.CODE
    found = settings.of(role).over_role(_DEFAULTS.of(role)).of(kind)
    is_short = role is Role.REVIEWER or (role is Role.DEVELOPER and kind is TaskKind.DOCS)
    return AgentLimits(
        turns=found.turns or max(1, int(turns * (_SHORT if is_short else 1))),
        wall=found.time or timedelta(hours=2),
        stall=found.stall_time,
        usd=Decimal(0) if found.usd is None else found.usd,
        output_tokens=found.output_tokens or 16_000,
        effort=found.effort,
    )


def most_usd(tasks: Iterable[Task], settings: AgentSettings) -> Decimal:
    """Return the most that one attempt at each task and its review can cost, in USD."""
    each = (
        limits_for(role, task.kind, settings, 1).usd
        for task in tasks
        for role in (Role.DEVELOPER, Role.REVIEWER)
    )
    return sum(each, Decimal(0))
