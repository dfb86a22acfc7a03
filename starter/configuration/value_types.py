"""The values of `blueflame.yaml`: how each kind is written, and the faults of one that is not.

Keys, sections and files are defined in `file_shape`.
"""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Annotated, Final

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    StringConstraints,
    TypeAdapter,
    ValidationInfo,
    WithJsonSchema,
)

from activities.yaml_documents.value_wording import brief
from starter.configuration.environment_values import (
    ca_file_fault,
    toolchain_fault,
    upstream_proxy_fault,
    variable_fault,
)
from starter.configuration.gate_commands import check_arguments, parse_command
from workflows.domain.agent.model_values import BUILT_IN
from workflows.domain.agent.tool_policy import CommandPattern, PathPattern
from workflows.domain.environment import Registry
from workflows.domain.session.session_config import (
    MOST_COMMITS,
    HistoryDepth,
    HostPattern,
    ModelName,
)
from workflows.policy.commands.patterns import pattern_fault
from workflows.policy.network.host_list import entry_fault, registry_fault
from workflows.policy.plan.claims import claim_fault

_DURATION = re.compile(r"(?:(\d{1,3})h)?(?:(\d{1,5})m)?(?:(\d{1,6})s)?", re.ASCII)
_LONGEST = timedelta(hours=24)
_CONTEXT: Final = TypeAdapter(dict[str, frozenset[str]])
_SHORT_NAMES = {"gemini": "google", "claude": "anthropic", "gpt": "openai"}


texts: Final = TypeAdapter(tuple[str, ...]).validate_python
"""Returns a list of texts unchanged; raises `ValidationError` for any other value."""


def parse_duration(value: object) -> timedelta:
    """Parse `90s`, `10m` or `1h30m`; more than nothing and at most 24 hours.

    Raises:
        ValueError: it is not a duration in this range.
    """
    if isinstance(value, timedelta):
        return value
    match = _DURATION.fullmatch(value) if isinstance(value, str) and value else None
    if match is None:
        raise ValueError(f"a duration is written as 90s, 10m or 1h30m, not {brief(value)}")
    hours, minutes, seconds = (int(part or 0) for part in match.groups())
    duration = timedelta(hours=hours, minutes=minutes, seconds=seconds)
    if not timedelta(0) < duration <= _LONGEST:
        raise ValueError(f"a duration is more than nothing and at most 24h, not {brief(value)}")
    return duration


def _command(value: object) -> object:
    """Turn a text into an argument list; pydantic checks a list."""
    return parse_command(value) if isinstance(value, str) else value


def _known_provider(name: str, info: ValidationInfo) -> str:
    provider = name.split("/", maxsplit=1)[0]
    told = _CONTEXT.validate_python(info.context or {})
    known = (*BUILT_IN, *sorted(told.get("providers", ())))
    if provider not in known:
        meant = _SHORT_NAMES.get(provider)
        advice = f"did you mean {meant!r}?" if meant else f"known are {', '.join(known)}"
        raise ValueError(
            f"unknown provider {provider!r}; {advice}. Another one is described under `providers:` "
            "in your own configuration"
        )
    return name


def _without_fault(fault_of: Callable[[str], str | None]) -> AfterValidator:
    def check(text: str) -> str:
        if (fault := fault_of(text)) is not None:
            raise ValueError(f"{text!r} cannot be taken: {fault}")
        return text

    return AfterValidator(check)


def _upstream_proxy(address: str) -> str:
    if (fault := upstream_proxy_fault(address)) is not None:
        raise ValueError(f"an upstream proxy cannot be taken: {fault}")
    return address.rstrip("/")


def _checked_registry(registry: Registry) -> Registry:
    if (fault := registry_fault(registry.host)) is not None:
        raise ValueError(f"host {registry.host!r} cannot be taken: {fault}")
    return registry


def parse_history(value: object) -> object:
    """Check how much history is wanted: `auto`, `full` or a number of commits.

    Raises:
        ValueError: it is none of them.
    """
    if value in ("auto", "full") or (type(value) is int and 1 <= value <= MOST_COMMITS):
        return value
    raise ValueError(
        f"must be auto, full or a number of commits from 1 to {MOST_COMMITS}, not {brief(value)}"
    )


Duration = Annotated[
    timedelta,
    BeforeValidator(parse_duration),
    WithJsonSchema({"type": "string", "pattern": r"^(?=.)(\d{1,3}h)?(\d{1,5}m)?(\d{1,6}s)?$"}),
]
Command = Annotated[
    tuple[str, ...],
    BeforeValidator(_command),
    AfterValidator(check_arguments),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "minLength": 1},
                {"type": "array", "items": {"type": "string"}, "minItems": 1},
            ]
        }
    ),
]
History = Annotated[
    HistoryDepth,
    BeforeValidator(parse_history),
    WithJsonSchema(
        {
            "anyOf": [
                {"enum": ["auto", "full"], "type": "string"},
                {"type": "integer", "minimum": 1, "maximum": MOST_COMMITS},
            ]
        }
    ),
]
Route = Annotated[
    tuple[Annotated[ModelName, AfterValidator(_known_provider)], ...], Field(min_length=1)
]
GateName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_.-]{0,62}$")]
ToolchainPath = Annotated[str, Field(max_length=1_000), _without_fault(toolchain_fault)]
VariableName = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,100}$"),
    _without_fault(variable_fault),
]
VariableValue = Annotated[str, StringConstraints(max_length=10_000, pattern=r"^[^\x00]*$")]
UpstreamProxy = Annotated[str, StringConstraints(max_length=300), AfterValidator(_upstream_proxy)]
CaFile = Annotated[str, StringConstraints(max_length=1_000), _without_fault(ca_file_fault)]
RegistryEntry = Annotated[Registry, AfterValidator(_checked_registry)]
CheckedHost = Annotated[HostPattern, _without_fault(entry_fault)]
CheckedPath = Annotated[PathPattern, _without_fault(claim_fault)]
CheckedCommand = Annotated[CommandPattern, _without_fault(pattern_fault)]
RemoteName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$")]
BranchName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_./-]{0,199}$")]
