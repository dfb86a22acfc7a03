"""A project's environment: what its commands find in the sandbox besides its own files."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field, StringConstraints

RegistryHost = Annotated[
    str, StringConstraints(min_length=1, max_length=300, pattern=r"^[^\x00]+$")
]
"""`mirror.example.org`, or with a port; not a pattern. `policy.network.host_list` reads it."""
TokenSource = Literal["pip", "uv", "npm", "cargo", "netrc"]


class Registry(BaseModel, frozen=True, extra="forbid"):
    """What a person states about one host from which set-up downloads packages."""

    host: RegistryHost
    private: bool = False
    """The host may resolve to an address that is not public: private, loopback or reserved."""
    token_from: TokenSource | None = None
    """The tool whose settings hold its credentials; the proxy adds them. None: it needs none."""


class RegistryAccess(BaseModel, frozen=True, extra="forbid"):
    """How set-up reaches the hosts that `worktree.network` lists; it lists no hosts itself."""

    registries: Annotated[tuple[Registry, ...], Field(max_length=50)] = ()
    upstream_proxy: Annotated[str, StringConstraints(max_length=300)] | None = None
    """`http://proxy.example.org:3128`, without credentials; private registries are reached
    directly."""
    no_proxy: Annotated[tuple[RegistryHost, ...], Field(max_length=100)] = ()
    """Further hosts that are reached directly."""
    ca_file: Annotated[str, StringConstraints(max_length=1_000)] | None = None
    """Certificates that set-up trusts besides the system's: a PEM file, by its absolute path."""


class CommandBounds(BaseModel, frozen=True, extra="forbid"):
    """What one command may use, including all processes that it starts; 1 MB is 2^20 bytes."""

    memory_mb: int = Field(default=4_096, ge=64, le=1 << 20)
    processes: int = Field(default=512, ge=16, le=32_768)
    file_mb: int = Field(default=1_024, ge=1, le=1 << 20)
    """The largest file that the command may write."""
    disk_mb: int = Field(default=4_096, ge=1, le=1 << 20)
    """By how much the command may let the workspace grow."""


class ProjectEnvironment(RegistryAccess, CommandBounds, frozen=True, extra="forbid"):
    """The same for set-up, agents and gates; a host shows only toolchains that its settings name.

    Access to registries concerns only set-up.
    """

    toolchains: tuple[str, ...] = ()
    """Absolute prefixes on the host, shown read-only; their `bin` on PATH in this order."""
    root: str | None = None
    """An absolute folder on the host, shown read-only as `/`; None: the host's own programs."""
    variables: dict[str, str] = Field(default_factory=dict[str, str])
    """Set for every command; they override the sandbox's own."""

    @property
    def places(self) -> tuple[str, ...]:
        """All folders that a host must show."""
        return (*self.toolchains, *(() if self.root is None else (self.root,)))

    @property
    def access(self) -> RegistryAccess:
        """Only how set-up reaches its hosts."""
        return RegistryAccess(
            registries=self.registries,
            upstream_proxy=self.upstream_proxy,
            no_proxy=self.no_proxy,
            ca_file=self.ca_file,
        )
