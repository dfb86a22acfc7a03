"""A project's environment: what its commands find in the sandbox beside its own files."""

from pydantic import BaseModel, Field


class ProjectEnvironment(BaseModel, frozen=True, extra="forbid"):
    """The same for set-up, agents and gates; a host shows only toolchains that it was told of."""

    toolchains: tuple[str, ...] = ()
    """Absolute prefixes on the host, shown read-only; their `bin` on PATH in this order."""
    variables: dict[str, str] = Field(default_factory=dict[str, str])
    """Set for every command, over the sandbox's own."""
