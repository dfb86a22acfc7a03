"""The shape of `blueflame.yaml`, and reading one layer of it.

Every key is optional except `version`; missing keys come from the layer below. Only checks that
need one file alone are here. `value_types` defines how values are written,
`effective_configuration` the layers, `SessionConfig` the defaults. It reads no disk.
"""

from collections.abc import Collection, Iterator
from datetime import timedelta
from decimal import Decimal
from typing import Annotated, Literal, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    Field,
    StrictBool,
    StrictInt,
    ValidationInfo,
    field_validator,
)
from pydantic.fields import FieldInfo

from activities.ports.endpoints import ProviderEntries
from activities.ports.land.hosting_entries import HostingEntries
from activities.ports.land.notification_port import NotificationSettings
from activities.yaml_documents.model_reader import (
    Document,
    DocumentError,
    parse_document,
    read_document,
)
from activities.yaml_documents.value_wording import brief
from starter.configuration.configuration_errors import ConfigurationError
from starter.configuration.value_types import (
    BranchName,
    CaFile,
    CheckedCommand,
    CheckedHost,
    CheckedPath,
    Command,
    Duration,
    GateName,
    History,
    RegistryEntry,
    RemoteName,
    Route,
    ToolchainPath,
    UpstreamProxy,
    VariableName,
    VariableValue,
)
from workflows.domain.agent.agent_settings import LimitSettings, RoleSettings
from workflows.domain.agent.model_values import GivenFacts
from workflows.domain.agent.tool_policy import RuleName, ToolName
from workflows.domain.plan import TaskKind
from workflows.domain.session.session_config import Approvals, ModelName, Trailer
from workflows.domain.session.session_modes import Pacing
from workflows.policy.money.grants import MAX_USD

VERSION = 1


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
            "update Blue Flame, or write the file again by 'blueflame config schema'"
        )
    return value


class GateEntry(BaseModel, frozen=True, extra="forbid"):
    """One gate under its name."""

    run: Command
    timeout: Duration = timedelta(minutes=10)
    cheap: StrictBool = False
    paths: Annotated[tuple[CheckedPath, ...], Field(max_length=200)] = ()


class ConcurrencySection(BaseModel, frozen=True, extra="forbid"):
    """How many agents or waves run at once."""

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
        """Refuse an amount written as text in a file; a typed option (no context) may be text."""
        if type(value) is str and info.context is not None:
            raise ValueError(f"must be a number, not {brief(value)}")
        return value


class AgentEntry(LimitSettings, frozen=True, extra="forbid"):
    """Limits of one agent in the file's format."""

    turns: StrictInt | None = Field(default=None, ge=1, le=1_000)
    time: Duration | None = None
    stall_time: Duration | None = None
    output_tokens: StrictInt | None = Field(default=None, ge=1_000, le=128_000)

    @field_validator("usd", mode="before")
    @classmethod
    def _is_no_text(cls, value: object) -> object:
        if type(value) is str:
            raise ValueError(f"must be a number, not {brief(value)}")
        return value


class RoleEntry(AgentEntry, frozen=True, extra="forbid"):
    """Limits of all agents of a role, and exceptions by the kind of their task."""

    kinds: dict[TaskKind, AgentEntry] = Field(default_factory=dict[TaskKind, AgentEntry])

    def settings(self) -> RoleSettings:
        """Return them in a session's format."""
        return RoleSettings.model_validate(self.model_dump(exclude_unset=True))


class AgentsSection(BaseModel, frozen=True, extra="forbid"):
    """What one agent may use, by role."""

    planner: RoleEntry | None = None
    developer: RoleEntry | None = None
    reviewer: RoleEntry | None = None


class LimitsSection(BaseModel, frozen=True, extra="forbid"):
    """How large one task's work may be."""

    changed_files: StrictInt | None = Field(default=None, ge=1, le=100_000)
    file_bytes: StrictInt | None = Field(default=None, ge=1, le=1 << 30)
    changed_bytes: StrictInt | None = Field(default=None, ge=1, le=1 << 30)


class WorktreeSection(BaseModel, frozen=True, extra="forbid"):
    """What a worktree needs besides the files in git."""

    setup: tuple[Command, ...] | None = None
    setup_timeout: Duration | None = None
    network: Annotated[tuple[CheckedHost, ...], Field(max_length=100)] | None = None
    copies: tuple[str, ...] | None = Field(default=None, validation_alias="copy")
    allow_secret: tuple[str, ...] | None = None
    history: History | None = None


class EnvironmentSection(BaseModel, frozen=True, extra="forbid"):
    """What the project's commands find besides its files."""

    toolchains: Annotated[tuple[ToolchainPath, ...], Field(max_length=50)] | None = None
    root: ToolchainPath | None = None
    variables: Annotated[dict[VariableName, VariableValue], Field(max_length=100)] | None = None
    registries: Annotated[tuple[RegistryEntry, ...], Field(max_length=50)] | None = None
    upstream_proxy: UpstreamProxy | None = None
    no_proxy: Annotated[tuple[CheckedHost, ...], Field(max_length=100)] | None = None
    ca_file: CaFile | None = None
    memory_mb: StrictInt | None = Field(default=None, ge=64, le=1 << 20)
    processes: StrictInt | None = Field(default=None, ge=16, le=32_768)
    file_mb: StrictInt | None = Field(default=None, ge=1, le=1 << 20)
    disk_mb: StrictInt | None = Field(default=None, ge=1, le=1 << 20)


class _Described(BaseModel, frozen=True, extra="ignore"):
    """Only the names of the providers that a file describes; routes may use them."""

    providers: dict[str, object] = Field(default_factory=dict[str, object])


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


class PullRequestSection(BaseModel, frozen=True, extra="forbid"):
    """How `deliver: pull_request` proposes the work."""

    remote: RemoteName | None = None
    target: BranchName | None = None
    per: Literal["session", "changeset"] | None = None
    poll: Duration | None = None
    follow: Duration | None = None
    feedback: Literal["ask", "auto"] | None = None
    rounds: StrictInt | None = Field(default=None, ge=0, le=20)


class CommitsSection(BaseModel, frozen=True, extra="forbid"):
    """What the commits of a session's branch look like."""

    history: Literal["squash", "keep"] | None = None
    author: Literal["blueflame", "me"] | None = None
    committer: Literal["blueflame", "me"] | None = None
    trailers: tuple[Trailer, ...] | None = None
    sign: Literal["auto", "always", "never"] | None = None


class ConfigurationFile(BaseModel, frozen=True, extra="forbid"):
    """One whole file; None: not set here."""

    version: Annotated[Literal[1], BeforeValidator(_known_version)] = Field(
        default=None, validate_default=True
    )
    """Required: the default is refused."""
    pacing: Pacing | None = None
    approvals: Approvals | None = None
    concurrency: ConcurrencySection | None = None
    models: ModelsSection | None = None
    providers: ProviderEntries | None = None
    catalogue: dict[ModelName, GivenFacts] | None = None
    budget: BudgetSection | None = None
    gates: dict[GateName, GateEntry] | None = None
    """An empty mapping means no gates; if missing, gates are detected."""
    worktree: WorktreeSection | None = None
    environment: EnvironmentSection | None = None
    plans: StrictInt | None = Field(default=None, ge=1, le=100)
    attempts: StrictInt | None = Field(default=None, ge=1, le=20)
    turns: StrictInt | None = Field(default=None, ge=1, le=1_000)
    agents: AgentsSection | None = None
    command_timeout: Duration | None = None
    limits: LimitsSection | None = None
    sandbox: Literal["required", "none"] | None = None
    policy: PolicySection | None = None
    deliver: Literal["branch", "fast_forward", "pull_request"] | None = None
    pull_request: PullRequestSection | None = None
    commits: CommitsSection | None = None
    hosting: HostingEntries | None = None
    on_cap: Literal["pause", "stop"] | None = None
    auto_pause_percent: StrictInt | None = Field(default=None, ge=0, le=100)
    notifications: NotificationSettings | None = None


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


class RepositoryEnvironmentSection(EnvironmentSection, frozen=True, extra="forbid"):
    """The same section in a file that was found in the repository."""

    @field_validator("variables")
    @classmethod
    def _names_no_home(cls, value: dict[str, str] | None) -> dict[str, str] | None:
        if value and any(text.startswith("~/") for text in value.values()):
            raise ValueError(
                "a repository cannot name a place in your home; say it in your own configuration "
                "or with --config FILE"
            )
        return value


class RepositoryFile(ConfigurationFile, frozen=True, extra="forbid"):
    """A file found in the repository: no person named it, so it may not weaken protection.

    `repository_limits` checks what depends on the person's own settings.
    """

    worktree: RepositoryWorktreeSection | None = None
    environment: RepositoryEnvironmentSection | None = None

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
    """List every dotted key except `version`, in the order of the file.

    A mapping whose names the person chooses (`gates`, `providers`, `catalogue`) counts as one key.
    """
    for name, field in ConfigurationFile.model_fields.items():
        section = _model_of(field)
        if section is not None:
            keys = [field.validation_alias or key for key, field in section.model_fields.items()]
            yield from (f"{name}.{key}" for key in keys)
        elif name != "version":
            yield name


def _model_of(field: FieldInfo) -> type[BaseModel] | None:
    """Return the model of the section under a key."""
    for kind in get_args(field.annotation):
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            return kind
    return None


def read_file(
    text: str, name: str, *, from_repository: bool = False, providers: Collection[str] = ()
) -> Document[ConfigurationFile]:
    """Parse one file's text, and return the place of each key.

    Args:
        text: the whole file.
        name: the file's name in messages.
        from_repository: it was found there, and the person did not name it.
        providers: those that other layers describe; the file's own are added.

    Raises:
        ConfigurationError: with file, line and column in each complaint.
    """
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
        return ()  # parsing the whole file reports the fault
