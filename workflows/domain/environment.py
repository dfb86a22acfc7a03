"""A project's environment: what its commands find in the sandbox beside its own files."""

from pydantic import BaseModel, Field


class ProjectEnvironment(BaseModel, frozen=True, extra="forbid"):
    """The same for set-up, agents and gates; a host shows only places that it was told of."""

    toolchains: tuple[str, ...] = ()
    """Absolute prefixes on the host, shown read-only; their `bin` on PATH in this order."""
    root: str | None = None
    """A folder on the host, absolute, shown read-only as `/`; None: the host's own programs."""
    variables: dict[str, str] = Field(default_factory=dict[str, str])
    """Set for every command, over the sandbox's own."""

    @property
    def places(self) -> tuple[str, ...]:
        """All that a host has to show."""
        return (*self.toolchains, *(() if self.root is None else (self.root,)))
