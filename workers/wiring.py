"""Which code each role runs: the one table from roles to workflows and activities.

Everything is imported only when a role is asked for, so that a worker loads no SDK that its role
does not need. Adapters are made here and given to the activity classes; no decision is taken.

    role        queue                modules
    workflows   workflows            workflows: session, the four waves, agent, ledger
    models      models               activities.models
    host        host, host/<name>    activities: hosts, repository, worktrees, tools, gates,
                                     reviews, merging
    land        land                 activities: repository, landing
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from workers.roles import Role
from workers.settings import Settings

Activity = Callable[..., Any]

PASSED_THROUGH: Final = (
    "workflows.domain",
    "workflows.policy",
    "workflows.contracts",
    "workflows.queues",
    "workflows.errors",
    "pydantic",
    "pydantic_core",
)
"""Modules that workflow code shares with the process instead of loading them anew in its sandbox:
they are pure, which import-linter and ruff hold, and loading costs 80 ms a workflow."""


def workflows_for(role: Role) -> list[type]:
    """Return the workflow classes that a role runs."""
    return list(_workflows()) if role is Role.WORKFLOWS else []


def activities_for(role: Role, settings: Settings) -> list[Activity]:
    """Return the activities that a role offers, with their adapters wired in."""
    builders = _BUILDERS[role]
    return [activity for build in builders for activity in build(settings)]


def _workflows() -> Sequence[type]:
    return ()


_BUILDERS: Final[Mapping[Role, Sequence[Callable[[Settings], Sequence[Activity]]]]] = {
    Role.WORKFLOWS: (),
    Role.MODELS: (),
    Role.HOST: (),
    Role.LAND: (),
}
"""For each role, what makes its activities; each entry imports its module when it is called."""
