"""Limits on a `blueflame.yaml` that was found in the repository: it may not override the person.

Pure; values are compared by dotted key with those that apply without that file. Settings that the
person cannot allow there (the sandbox, secrets) are refused when the file is read.
"""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Final

from pydantic import TypeAdapter

from starter.configuration.environment_values import ready_line
from starter.configuration.value_types import texts
from starter.configuration.written_values import spelled
from workflows.domain.agent.agent_settings import AgentSettings, LimitSettings, RoleSettings
from workflows.domain.agent.model_values import Role
from workflows.domain.agent.tool_policy import ToolPolicy
from workflows.domain.environment import CommandBounds, ProjectEnvironment
from workflows.domain.session.session_config import (
    Approvals,
    CommitsConfig,
    PullRequestConfig,
    SessionConfig,
    WorktreeConfig,
)
from workflows.domain.violation import DiffLimits

_REMEDY = (
    "a repository cannot decide that for you; say it in your own configuration, with --config FILE "
    "or with a flag"
)
_NUMBER: Final = TypeAdapter(Decimal | int)
_ASKING: Final = "ask"
_PERSONAL: Final = (
    "providers.",
    "catalogue.",
    "hosting.",
    "environment.registries",
    "environment.upstream_proxy",
    "environment.no_proxy",
    "environment.ca_file",
)
_DENYING: Final = ("policy.deny_commands", "policy.blocked_paths", "policy.protected_paths")
"""Lists to which every layer adds; more entries only deny more."""
_WIDENING: Final = tuple(
    f"policy.{key}"
    for key in (
        "planner_tools", "developer_tools", "reviewer_tools", "allow_commands", "read_paths",
        "write_paths", "lift",
    )
)  # fmt: skip
"""Lists from which a repository may only remove entries."""
_NETWORK: Final = "worktree.network"
_DELIVER: Final = "deliver"
_ROUNDS: Final = "pull_request.rounds"
_IDENTITY: Final = ("author", "committer", "sign")
_TOOLCHAINS: Final = "environment.toolchains"
_BOUNDS: Final = tuple(f"environment.{key}" for key in CommandBounds.model_fields)
_DEFAULTS: Final[Mapping[str, object]] = {
    "approvals.plan": Approvals().plan,
    "approvals.changeset": Approvals().changeset,
    "approvals.unjudged": Approvals().unjudged,
    "approvals.unjudged_base": Approvals().unjudged_base,
    "approvals.questions": Approvals().questions,
    "on_cap": SessionConfig.model_fields["on_cap"].default,
    "budget.stop_usd": SessionConfig.model_fields["budget"].default.stop_usd,
    _DELIVER: SessionConfig.model_fields["deliver"].default,
    "pull_request.feedback": PullRequestConfig().feedback,
    **{f"commits.{key}": getattr(CommitsConfig(), key) for key in _IDENTITY},
    _ROUNDS: PullRequestConfig().rounds,
    _NETWORK: WorktreeConfig().network,
    _TOOLCHAINS: ProjectEnvironment().toolchains,
    "environment.root": ProjectEnvironment().root,
    **{f"environment.{key}": getattr(CommandBounds(), key) for key in CommandBounds.model_fields},
    **{f"limits.{key}": getattr(DiffLimits(), key) for key in DiffLimits.model_fields},
    **{key: getattr(ToolPolicy(), key.removeprefix("policy.")) for key in _WIDENING},
}


def joined(below: Mapping[str, object], layer: Mapping[str, object]) -> dict[str, object]:
    """Return a layer's values, completed by those values of lower layers that add up.

    These are denials, and limits of an agent that the layer does not set.

    Args:
        below: the values without the layer, by dotted key.
        layer: the layer's values.
    """
    values = dict(layer)
    for key, value in layer.items():
        lower = below.get(key)
        if isinstance(value, RoleSettings) and isinstance(lower, RoleSettings):
            values[key] = value.over_role(lower)
    for key in _DENYING:
        if key in layer and key in below:
            both = (*texts(below[key]), *texts(layer[key]))
            values[key] = tuple(dict.fromkeys(both))
    return values


def limit_faults(found: Mapping[str, object], own: Mapping[str, object]) -> tuple[str, ...]:
    """Return the values that the repository's file may not decide.

    | key                | the repository may set                                     |
    |--------------------|------------------------------------------------------------|
    | `approvals.…`, `pull_request.feedback` | `ask`, or the person's value           |
    | `on_cap`, `commits.author`, `….committer`, `….sign` | the person's value, or the default  |
    | `budget.stop_usd`, | at most the person's value, or the default                 |
    | `pull_request.rounds`, |                                                        |
    | `limits.…`, `environment.memory_mb`, `….processes`, `….file_mb`, `….disk_mb` |  |
    | `providers.…`      | the person's value: it decides where keys and code go      |
    | `catalogue.…`      | the person's value: it decides what the cap counts         |
    | `hosting.…`        | the person's value: it permits pushes                      |
    | `deliver`          | `branch`, or the person's value; `pull_request` if the     |
    |                    | person has an entry in `hosting`                           |
    | `environment.registries`, `….upstream_proxy`, `….no_proxy`, `….ca_file` | the person's \
    value: it opens the person's network, or decides whom set-up trusts |
    | `worktree.network` | hosts that the person lists, in the same words             |
    | `environment.toolchains` | toolchains that the person lists, in the same words  |
    | `environment.root` | the person's value: it is a place on their machine         |
    | `agents.…`         | at most the person's value, or the default; any effort     |
    | lists of `policy`  | the same, or less; denials may be added                    |
    | any other          | anything                                                   |

    Args:
        found: the file's values that no later layer replaces, by dotted key.
        own: the values of the person's own file, by dotted key.

    Returns:
        One complaint for each, beginning with the key.
    """
    checked = ((key, found[key], own.get(key, _DEFAULTS[key])) for key in _DEFAULTS if key in found)
    refused = tuple(
        f"{key}: {_shown(value)} where {_shown(mine)} applies without this file: "
        f"{_remedy(key, value, mine)}"
        for key, value, mine in checked
        if not (_may(key, value, mine) or (key == _DELIVER and _may_deliver(value, own)))
    )
    personal = (key for key in sorted(found) if key.startswith(_PERSONAL))
    others = tuple(
        f"{key}: you do not say this yourself: {_REMEDY}"
        for key in personal
        if found[key] != own.get(key)
    )
    return refused + others + tuple(_agent_faults(found, own))


def _agent_faults(found: Mapping[str, object], own: Mapping[str, object]) -> Iterator[str]:
    for role in Role:
        key = f"agents.{role}"
        said, mine = found.get(key), own.get(key, RoleSettings())
        if not isinstance(said, RoleSettings) or not isinstance(mine, RoleSettings):
            continue
        allowed = mine.over_role(AgentSettings().of(role))
        checked = [("", said, allowed)]
        checked += [(f"kinds.{kind}.", said.kinds[kind], allowed.of(kind)) for kind in said.kinds]
        for place, limits, most in checked:
            yield from (f"{key}: {place}{text}" for text in _raised(limits, most))


def _raised(said: LimitSettings, allowed: LimitSettings) -> Iterator[str]:
    """Return the limits that exceed the allowed value; effort is not limited."""
    for name in LimitSettings.model_fields:
        value, most = getattr(said, name), getattr(allowed, name)
        if name != "effort" and value is not None and most is not None and value > most:
            yield (
                f"{name}: {spelled(name, value)} where {spelled(name, most)} applies without this "
                f"file: {_REMEDY}"
            )


def _may(key: str, value: object, mine: object) -> bool:
    if key in {"budget.stop_usd", _ROUNDS, *_BOUNDS} or key.startswith("limits."):
        return _NUMBER.validate_python(value) <= _NUMBER.validate_python(mine)
    if key in {_NETWORK, _TOOLCHAINS}:
        return set(texts(value)) <= set(texts(mine))
    if key in _WIDENING:
        allowed = set(texts(mine))
        return bool(allowed & {"*", "**"}) or set(texts(value)) <= allowed
    return value == mine or (key.startswith(("approvals.", "pull_request.")) and value == _ASKING)


def _may_deliver(value: object, own: Mapping[str, object]) -> bool:
    """Whether a repository may say where the work goes; the worker checks which repository."""
    may_push = any(key.startswith("hosting.") for key in own)
    return value == _DEFAULTS[_DELIVER] or (value == "pull_request" and may_push)


def _remedy(key: str, value: object, mine: object) -> str:
    if key != _TOOLCHAINS:
        return _REMEDY
    both = dict.fromkeys((*texts(mine), *texts(value)))
    return (
        "a repository cannot show its commands a directory of your machine; to allow it, put this "
        f"line into your own configuration: `{ready_line(tuple(both))}`"
    )


def _shown(value: object) -> object:
    return f"[{', '.join(texts(value))}]" if isinstance(value, tuple) else value
