"""A project's environment: what its commands find in the sandbox beside its own files."""

from typing import Annotated

from pydantic import BaseModel, Field, StringConstraints

RegistryHost = Annotated[
    str, StringConstraints(min_length=1, max_length=300, pattern=r"^[^\x00]+$")
]
"""`mirror.example.org`, or with a port; no pattern: `policy.network.host_list` reads it."""


class Registry(BaseModel, frozen=True, extra="forbid"):
    """What a person says of one host from which set-up takes packages."""

    host: RegistryHost
    private: bool = False
    """It may lead to an address that is not public: private, loopback or reserved."""


class RegistryAccess(BaseModel, frozen=True, extra="forbid"):
    """How set-up reaches hosts that `worktree.network` lists; it lists none itself."""

    registries: Annotated[tuple[Registry, ...], Field(max_length=50)] = ()


class ProjectEnvironment(BaseModel, frozen=True, extra="forbid"):
    """The same for set-up, agents and gates; a host shows only toolchains that it was told of."""

    toolchains: tuple[str, ...] = ()
    """Absolute prefixes on the host, shown read-only; their `bin` on PATH in this order."""
    variables: dict[str, str] = Field(default_factory=dict[str, str])
    """Set for every command, over the sandbox's own."""
    registries: Annotated[tuple[Registry, ...], Field(max_length=50)] = ()
    """Of set-up only; a host knows only those that it was told of."""

    @property
    def access(self) -> RegistryAccess:
        """How set-up reaches its hosts."""
        return RegistryAccess(registries=self.registries)
