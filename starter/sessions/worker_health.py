"""Whether one worker of this machine is alive: the document of `health --worker ROLE --json`."""

from pydantic import BaseModel

from workers.roles import Role


class WorkerLife(BaseModel, frozen=True, extra="forbid"):
    """One role's worker on this machine."""

    schema_version: int = 1
    role: Role
    is_well: bool
    problem: str
    """Why it is not well; empty if it is."""
