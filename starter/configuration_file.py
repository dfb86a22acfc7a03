"""The shape of `blueflame.yaml`, and reading one layer of it.

Every key is optional except `version`; what is left out comes from the layer below. Checks what one
file can be asked alone; layers and defaults are `starter.configuration`'s. It reads no disk.
"""

import re
from collections.abc import Collection, Iterator
from datetime import timedelta
from decimal import Decimal
from typing import Annotated, Literal, cast, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    StrictInt,
    StringConstraints,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
)
from pydantic.fields import FieldInfo

from activities.document_wording import brief
from activities.documents import Document, DocumentError, parse_document, read_document
from activities.ports.endpoints import ProviderEntries
from starter.configuration_errors import ConfigurationError
from starter.gate_commands import check_arguments, parse_command
from workflows.domain.config import Approvals, HostPattern, ModelName, Pacing
from workflows.domain.models import BUILT_IN, GivenFacts
from workflows.domain.tool_policy import CommandPattern, PathPattern, RuleName, ToolName
from workflows.policy.claims import claim_fault
from workflows.policy.command_patterns import pattern_fault
from workflows.policy.hosts import entry_fault

FILE_NAME = "blueflame.yaml"
VERSION = 1
MAX_FILE_BYTES = 64 * 1024
MAX_USD = Decimal(1_000_000)

_DURATION = re.compile(r"(?:(\d{1,3})h)?(?:(\d{1,5})m)?(?:(\d{1,6})s)?", re.ASCII)
_LONGEST = timedelta(hours=24)
_SHORT_NAMES = {"gemini": "google", "claude": "anthropic", "gpt": "openai"}


def parse_duration(value: object) -> timedelta:
    """Read `90s`, `10m` or `1h30m`; more than nothing and at most 24 hours.

    Raises:
        ValueError: it is something else.
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
    """A text becomes an argument list; a list is left to pydantic."""
    return parse_command(value) if isinstance(value, str) else value


def _known_provider(name: str, info: ValidationInfo) -> str:
    provider = name.split("/", maxsplit=1)[0]
    told = cast("dict[str, Collection[str]]", info.context or {})
    known = (*BUILT_IN, *sorted(told.get("providers", ())))
    if provider not in known:
        meant = _SHORT_NAMES.get(provider)
        advice = f"did you mean {meant!r}?" if meant else f"known are {', '.join(known)}"
        raise ValueError(
            f"unknown provider {provider!r}; {advice}. Another one is described under `providers:` "
            "in your own configuration"
        )
    return name


def _known_version(value: object) -> object:
    if value is None:
        raise ValueError(
            f"the key 'version' is missing here; write 'version: {VERSION}' above it, or let "
            "'blueflame config migrate' do it"
        )
    if type(value) is not int or value < VERSION:
        raise ValueError(
            f"this release reads version {VERSION}, not {brief(value)}; write 'version: {VERSION}'"
        )
    if value > VERSION:
        raise ValueError(
            f"this release reads version {VERSION}, not {brief(value)}, which is of a newer one; "
            "update Blue Flame, or write the file anew by 'blueflame config schema'"
        )
    return value


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
Route = Annotated[
    tuple[Annotated[ModelName, AfterValidator(_known_provider)], ...], Field(min_length=1)
]
GateName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_.-]{0,62}$")]


class GateEntry(BaseModel, frozen=True, extra="forbid"):
    """One gate under its name."""

    run: Command
    timeout: Duration = timedelta(minutes=10)


class ConcurrencySection(BaseModel, frozen=True, extra="forbid"):
    """How many run at once."""

    plan: StrictInt | None = Field(default=None, ge=1, le=1)
    develop: StrictInt | None = Field(default=None, ge=1, le=64)
    validation: StrictInt | None = Field(default=None, ge=1, le=64, validation_alias="validate")
    merge: StrictInt | None = Field(default=None, ge=1, le=1)


class ModelsSection(BaseModel, frozen=True, extra="forbid"):
    """An ordered list of models for each role."""

    planner: Route | None = None
    developer: Route | None = None
    reviewer: Route | None = None


class BudgetSection(BaseModel, frozen=True, extra="forbid"):
    """What a session may spend, in USD."""

    warn_usd: Decimal | None = Field(default=None, ge=0, le=MAX_USD, allow_inf_nan=False)
    stop_usd: Decimal | None = Field(default=None, ge=0, le=MAX_USD, allow_inf_nan=False)
    burn_usd_per_minute: Decimal | None = Field(default=None, gt=0, le=MAX_USD, allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _is_no_text(cls, value: object, info: ValidationInfo) -> object:
        """Guess no amount from a file's text; what was typed as an option (no context) is one."""
        if type(value) is str and info.context is not None:
            raise ValueError(f"must be a number, not {brief(value)}")
        return value


class LimitsSection(BaseModel, frozen=True, extra="forbid"):
    """How large one task's work may be."""

    changed_files: StrictInt | None = Field(default=None, ge=1, le=100_000)
    file_bytes: StrictInt | None = Field(default=None, ge=1, le=1 << 30)
    changed_bytes: StrictInt | None = Field(default=None, ge=1, le=1 << 30)


def _checked_host(entry: str) -> str:
    if (fault := entry_fault(entry)) is not None:
        raise ValueError(f"{entry!r} cannot be taken: {fault}")
    return entry


CheckedHost = Annotated[HostPattern, AfterValidator(_checked_host)]


class WorktreeSection(BaseModel, frozen=True, extra="forbid"):
    """What a worktree needs beside what git holds."""

    setup: tuple[Command, ...] | None = None
    network: Annotated[tuple[CheckedHost, ...], Field(max_length=100)] | None = None
    copies: tuple[str, ...] | None = Field(default=None, validation_alias="copy")
    allow_secret: tuple[str, ...] | None = None


class _Described(BaseModel, frozen=True, extra="ignore"):
    """Only the names of the providers that a file describes; routes may use them."""

    providers: dict[str, object] = Field(default_factory=dict[str, object])


def _checked_claim(pattern: str) -> str:
    if (fault := claim_fault(pattern)) is not None:
        raise ValueError(f"{pattern!r} cannot be taken: {fault}")
    return pattern


def _checked_command(pattern: str) -> str:
    if (fault := pattern_fault(pattern)) is not None:
        raise ValueError(f"{pattern!r} cannot be taken: {fault}")
    return pattern


CheckedPath = Annotated[PathPattern, AfterValidator(_checked_claim)]
CheckedCommand = Annotated[CommandPattern, AfterValidator(_checked_command)]


class PolicySection(BaseModel, frozen=True, extra="forbid"):
    """Rules for tool calls."""

    planner_tools: tuple[ToolName, ...] | None = None
    developer_tools: tuple[ToolName, ...] | None = None
    reviewer_tools: tuple[ToolName, ...] | None = None
    allow_commands: tuple[CheckedCommand, ...] | None = None
    deny_commands: tuple[CheckedCommand, ...] | None = None
    lift: tuple[RuleName, ...] | None = None
    read_paths: tuple[CheckedPath, ...] | None = None
    write_paths: tuple[CheckedPath, ...] | None = None
    blocked_paths: tuple[CheckedPath, ...] | None = None
    protected_paths: tuple[CheckedPath, ...] | None = None


class ConfigurationFile(BaseModel, frozen=True, extra="forbid"):
    """One whole file; None: not said here."""

    version: Annotated[Literal[1], BeforeValidator(_known_version)] = Field(
        default=None, validate_default=True
    )
    """Must be there: the default is refused."""
    pacing: Pacing | None = None
    approvals: Approvals | None = None
    concurrency: ConcurrencySection | None = None
    models: ModelsSection | None = None
    providers: ProviderEntries | None = None
    catalogue: dict[ModelName, GivenFacts] | None = None
    budget: BudgetSection | None = None
    gates: dict[GateName, GateEntry] | None = None
    """An empty mapping means no gates; left out, they are detected."""
    worktree: WorktreeSection | None = None
    attempts: StrictInt | None = Field(default=None, ge=1, le=20)
    turns: StrictInt | None = Field(default=None, ge=1, le=1_000)
    command_timeout: Duration | None = None
    limits: LimitsSection | None = None
    sandbox: Literal["required", "none"] | None = None
    policy: PolicySection | None = None
    deliver: Literal["branch"] | None = None
    on_cap: Literal["pause", "stop"] | None = None


class RepositoryWorktreeSection(WorktreeSection, frozen=True, extra="forbid"):
    """The same section in a file that was found in the repository."""

    @field_validator("allow_secret")
    @classmethod
    def _marks_no_secret(cls, value: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if value:
            raise ValueError(
                "a repository cannot let secrets be copied; say it in your own configuration or "
                "with --config FILE"
            )
        return value


class RepositoryFile(ConfigurationFile, frozen=True, extra="forbid"):
    """A file found in the repository: no person named it, so it may not lower the guard.

    What depends on the person's own settings is `starter.repository_limits`' to judge.
    """

    worktree: RepositoryWorktreeSection | None = None

    @field_validator("sandbox")
    @classmethod
    def _keeps_the_sandbox(cls, value: str | None) -> str | None:
        if value == "none":
            raise ValueError(
                "a repository cannot switch the sandbox off; say it in your own configuration, "
                "with --config FILE or with a flag"
            )
        return value


def file_keys() -> Iterator[str]:
    """Name every dotted key but `version`, in the order of the file.

    A mapping by names of the person's own (`gates`, `providers`, `catalogue`) is one.
    """
    for name, field in ConfigurationFile.model_fields.items():
        section = _model_of(field)
        if section is not None:
            keys = [field.validation_alias or key for key, field in section.model_fields.items()]
            yield from (f"{name}.{key}" for key in keys)
        elif name != "version":
            yield name


def _model_of(field: FieldInfo) -> type[BaseModel] | None:
    """The section that stands under a key."""
    for kind in get_args(field.annotation):
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            return kind
    return None


def parse_file(
    text: str, name: str, *, from_repository: bool = False, providers: Collection[str] = ()
) -> ConfigurationFile:
    """Read one file's text.

    Args:
        text: the whole file.
        name: how messages call it.
        from_repository: it was found there, and not named by the person.
        providers: those that other layers describe; the file's own are added.

    Raises:
        ConfigurationError: with file, line and column in each complaint.
    """
    return read_file(text, name, from_repository=from_repository, providers=providers).value


def read_file(
    text: str, name: str, *, from_repository: bool = False, providers: Collection[str] = ()
) -> Document[ConfigurationFile]:
    """Read one file's text, as `parse_file` does, and say where each key stands.

    Raises:
        ConfigurationError: with file, line and column in each complaint.
    """
    if len(text) > MAX_FILE_BYTES:
        raise ConfigurationError(
            f"{name}:1:1: over {MAX_FILE_BYTES} bytes; no configuration is so long"
        )
    if not text.strip():
        raise ConfigurationError(f"{name}:1:1: empty; write at least 'version: {VERSION}'")
    kind: type[ConfigurationFile] = RepositoryFile if from_repository else ConfigurationFile
    try:
        own = _described(text, name)
        return read_document(kind, text, name, {"providers": {*providers, *own}})
    except DocumentError as error:
        raise ConfigurationError(str(error)) from error


def _described(text: str, name: str) -> Collection[str]:
    try:
        return parse_document(_Described, text, name).providers
    except DocumentError:
        return ()  # the whole file's reading says what is wrong
