"""What a Blue Flame process reads from its environment, once in `__main__`, and passes down.

It decides no policy and creates nothing on disk; `workers.hosting.data_layout` makes the
directories.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Self, TypedDict, Unpack, cast

from platformdirs import user_data_dir
from pydantic import BaseModel, Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from activities.ports.endpoints import ProviderEntries, ProviderEntry, endpoints
from activities.ports.land.hosting_entries import HostingEntries, HostingEntry, token_variables
from workers.payload_keys import read_keys
from workflows.domain.agent.model_values import Provider
from workflows.domain.environment import RegistryAccess

DROPPED_ID = 60_917
"""An id that neither Debian nor systemd gives to a user, and that fits a rootless container."""


class HomelessError(Exception):
    """This account has no home directory, and no data directory is named."""


def _default_data_dir() -> Path:
    try:
        return Path(user_data_dir("blueflame", appauthor=False))
    except RuntimeError as error:
        raise HomelessError(
            "this account has no home directory; set HOME, or BLUEFLAME_DATA_DIR to a directory of "
            "yours"
        ) from error


_KEY_FILES = tuple(f"{name}_api_key_file" for name in ("anthropic", "openai", "gemini"))


class SettingsChanges(TypedDict, total=False):
    """The settings that a process may change after it read them."""

    data_dir: Path
    server: str | None
    playbook: Path | None
    sandbox: Literal["required", "none"]
    providers: Mapping[Provider, ProviderEntry]
    endpoint_keys: Mapping[Provider, SecretStr]
    toolchains: dict[str, Path]
    registries: RegistryAccess
    hosting: HostingEntries


class Settings(BaseSettings):
    """All settings of a process; each field is `BLUEFLAME_<FIELD>` unless it says otherwise."""

    model_config = SettingsConfigDict(
        frozen=True,
        extra="ignore",
        env_prefix="BLUEFLAME_",
        env_ignore_empty=True,
        hide_input_in_errors=True,  # it may be a key
    )

    data_dir: Path = Field(default_factory=_default_data_dir)
    """Blue Flame's data directory on this machine."""
    host_uid: int = Field(default=DROPPED_ID, ge=1)
    """The unprivileged user that a host worker started as root becomes."""
    host_gid: int = Field(default=DROPPED_ID, ge=1)
    temporal_port: int = Field(default=7233, ge=0, le=65_535)
    """The port that the bundled server prefers; 0: any free one."""
    ui_port: int = Field(default=8233, ge=0, le=65_535)
    """The port that the bundled Web UI prefers; 0: any free one."""
    server: str | None = None
    """`host:port` of the bundled server, as its supervisor passes it; None: read `server.json`."""
    host_name: str | None = Field(default=None, pattern=r"^[A-Za-z0-9._-]{1,80}$")
    """This host's name in its queue; None: generated once, and kept in `<data>/host/name`."""
    playbook: Path | None = None
    """The scripted model's playbook."""
    sandbox: Literal["required", "none"] = "required"
    """`none`: this host does not confine commands; sessions must say the same, or they refuse
    it."""
    toolchains: dict[str, Path] = Field(default_factory=dict[str, Path])
    """Toolchains that this host may show to commands besides /usr: each name with its real path;
    JSON, a list of paths also works."""
    registries: RegistryAccess = RegistryAccess()
    """How set-up on this host may reach the hosts that a session lists; JSON with the keys of
    section `environment` of the configuration file."""
    hosting: HostingEntries = Field(default_factory=dict[str, HostingEntry])
    """Hosting services to which role `land` may push; JSON with the entries of section `hosting` of
    the configuration file."""
    tool_settings_fd: int | None = None
    """A descriptor that holds the person's settings of package tools, read before root was dropped;
    set only by Blue Flame itself."""
    cgroup: str | None = None
    """A delegated cgroup (version 2) in which each command gets its own: its path, or `own`."""
    providers: ProviderEntries = Field(default_factory=dict[Provider, ProviderEntry])
    """Model providers besides the built-in ones, and each one's time limit; JSON."""
    endpoint_keys: dict[Provider, SecretStr] = Field(default_factory=dict[Provider, SecretStr])
    """The keys that `providers` name, from the variables of the environment."""
    snapshot_bytes: int = Field(default=20 << 30, ge=0)
    """The space for results of set-ups on this host's disk; those in use are always kept."""
    retention_days: int = Field(default=7, ge=0, le=36_500)
    """For how long data of sessions stays after their work was proven merged."""
    disk_bytes: int = Field(default=50 << 30, ge=0)
    """The space for data of sessions: if they use more, what is proven merged goes earlier."""
    log: Literal["text", "json"] = "text"
    """The form of a worker's log."""
    metrics_address: str | None = Field(default=None, pattern=r"^[A-Za-z0-9.:\[\]_-]+:[0-9]{1,5}$")
    """`host:port` where Prometheus scrapes the first role; the others have the next ports, in the
    order workflows, models, host, land. Port 0: any free ones. None: metrics are not served."""
    liveness_seconds: int = Field(default=120, ge=1, le=86_400)
    """For how long a worker may be without contact to its server, or its event loop blocked,
    before it counts as hanging."""
    build: str | None = Field(default=None, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")
    """The build that this process's workflow code belongs to; None: named after the code itself."""
    takes_new: bool | None = None
    """Whether new sessions start on this process's build: true under a supervisor with the bundled
    server, because a person chose its build; false for workers of an older build that only finish
    its sessions; None: as `deployment.may_take_over` says."""
    fail_point: str | None = None
    """Where a crash test ends this process, once; set only by tests."""
    payload_keys: SecretStr | None = None
    """Keys of the encrypting codec, `id:base64,…`; the first encrypts; None: no encryption."""
    temporal: dict[str, str] = Field(default_factory=dict, repr=False)
    """The standard variables `TEMPORAL_*` of the environment."""

    anthropic_api_key: SecretStr | None = Field(default=None, validation_alias="ANTHROPIC_API_KEY")
    anthropic_base_url: str | None = Field(default=None, validation_alias="ANTHROPIC_BASE_URL")
    openai_api_key: SecretStr | None = Field(default=None, validation_alias="OPENAI_API_KEY")
    openai_base_url: str | None = Field(default=None, validation_alias="OPENAI_BASE_URL")
    gemini_api_key: SecretStr | None = Field(default=None, validation_alias="GEMINI_API_KEY")
    google_api_key: SecretStr | None = Field(default=None, validation_alias="GOOGLE_API_KEY")
    anthropic_api_key_file: Path | None = Field(
        default=None, validation_alias="ANTHROPIC_API_KEY_FILE"
    )
    anthropic_api_key_command: str | None = Field(
        default=None, validation_alias="ANTHROPIC_API_KEY_COMMAND"
    )
    openai_api_key_file: Path | None = Field(default=None, validation_alias="OPENAI_API_KEY_FILE")
    openai_api_key_command: str | None = Field(
        default=None, validation_alias="OPENAI_API_KEY_COMMAND"
    )
    gemini_api_key_file: Path | None = Field(default=None, validation_alias="GEMINI_API_KEY_FILE")
    gemini_api_key_command: str | None = Field(
        default=None, validation_alias="GEMINI_API_KEY_COMMAND"
    )
    gemini_base_url: str | None = Field(default=None, validation_alias="GOOGLE_GEMINI_BASE_URL")

    @field_validator("data_dir", "playbook", *_KEY_FILES)
    @classmethod
    def _absolute(cls, path: Path | None) -> Path | None:
        return None if path is None else path.expanduser().absolute()

    @field_validator("toolchains", mode="before")
    @classmethod
    def _named(cls, value: object) -> object:
        """Read a list of paths as names that are not links."""
        if not isinstance(value, list):
            return value
        return {str(each): each for each in cast("list[object]", value)}

    @field_validator("payload_keys")
    @classmethod
    def _has_keys(cls, keys: SecretStr | None) -> SecretStr | None:
        if keys is not None:
            read_keys(keys.get_secret_value())
        return keys

    @classmethod
    def read(cls, environment: Mapping[str, str] | None = None) -> Self:
        """Read the settings from the process's environment.

        Args:
            environment: the source of the `TEMPORAL_*` variables; None: the process's own.

        Raises:
            ValidationError: a variable has an invalid value.
        """
        variables = os.environ if environment is None else environment
        own = cls(temporal={k: v for k, v in variables.items() if k.startswith("TEMPORAL_") and v})
        named = {name: entry.key or "" for name, entry in endpoints(own.providers).items()}
        keys = {
            name: SecretStr(variables[key]) for name, key in named.items() if variables.get(key)
        }
        return own.evolve(endpoint_keys=keys)

    def evolve(self, **changes: Unpack[SettingsChanges]) -> Self:
        """Return the settings with some changed; does not read the environment again.

        Args:
            changes: paths are absolute.
        """
        return self.model_copy(update=dict(changes))

    def as_environment(self) -> dict[str, str]:
        """Return the variables that give another Blue Flame process the same settings."""
        names = ("data_dir", "host_uid", "host_gid", "host_name", "playbook", "sandbox", "cgroup")
        values = {name: getattr(self, name) for name in (*names, "build")}
        if self.toolchains:
            values["toolchains"] = self.toolchains_json()
        if self.registries != RegistryAccess():
            values["registries"] = self.registries.model_dump_json(exclude_defaults=True)
        if self.providers:
            values["providers"] = _json(self.providers)
        if self.hosting:
            values["hosting"] = _json(self.hosting)
        if self.payload_keys is not None:
            values["payload_keys"] = self.payload_keys.get_secret_value()
        return {f"BLUEFLAME_{k.upper()}": str(v) for k, v in values.items() if v is not None}

    def toolchains_json(self) -> str:
        """Return the toolchains in the format of `BLUEFLAME_TOOLCHAINS`."""
        return json.dumps({name: str(real) for name, real in self.toolchains.items()})

    @property
    def key_files(self) -> tuple[Path, ...]:
        """Files that hold providers' keys."""
        named = (getattr(self, name) for name in _KEY_FILES)
        return tuple(path for path in named if path is not None)

    @property
    def key_variables(self) -> frozenset[str]:
        """The names of the variables that hold the keys of compatible servers."""
        return frozenset(entry.key for entry in self.providers.values() if entry.key)

    @property
    def token_variables(self) -> frozenset[str]:
        """The names of the variables that may hold tokens of hosting services."""
        return token_variables(self.hosting)

    @property
    def has_external_server(self) -> bool:
        """True if the person names a Temporal server, so that the bundled one is not used."""
        return "TEMPORAL_ADDRESS" in self.temporal or "TEMPORAL_PROFILE" in self.temporal

    @property
    def store_dir(self) -> Path:
        """The content-addressed store that all workers share."""
        return self.data_dir / "store"

    @property
    def host_dir(self) -> Path:
        """The host's own data: repositories, worktrees, journals; outside every sandbox."""
        return self.data_dir / "host"

    @property
    def logs_dir(self) -> Path:
        """Bounded log files of the server and the workers."""
        return self.data_dir / "logs"


def _json(entries: Mapping[str, BaseModel]) -> str:
    said = {
        name: entry.model_dump(mode="json", exclude_unset=True) for name, entry in entries.items()
    }
    return json.dumps(said, sort_keys=True)
