"""What is proposed for a project: the toolchains that it asks for, its set-up and its gates."""

import shlex
from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel

from workflows.domain.gate import GateSpec

Language = Literal["python", "node", "rust", "go", "java", "ruby", "php", "elixir"]

Index = Literal["pip", "npm", "cargo", "go", "bundler", "composer", "maven", "gradle", "hex"]

_RUN_IT = 'exec "$@"'


class ToolchainNeed(BaseModel, frozen=True, extra="forbid"):
    """A language that the project is written in."""

    language: Language
    version: str = ""
    """As the project says it (`3.12.8`, `>=3.11`, `v22`); empty where it says none."""
    evidence: str
    """The file that says so."""


class Proposal(BaseModel, frozen=True, extra="forbid"):
    """What one project, or one package of a repository with several, needs."""

    needs: tuple[ToolchainNeed, ...] = ()
    setup: tuple[str, ...] = ()
    """Commands as texts for the shell, in order, from the repository's root."""
    indexes: tuple[Index, ...] = ()
    """Whose package indexes set-up reaches; at which hosts, each person's own settings say."""
    variables: dict[str, str] = {}
    gates: tuple[GateSpec, ...] = ()
    notes: tuple[str, ...] = ()
    """For a person, one sentence each."""

    def __add__(self, other: "Proposal") -> "Proposal":
        """Return both together, each part in order, without what is said twice."""
        return Proposal(
            needs=tuple(dict.fromkeys((*self.needs, *other.needs))),
            setup=tuple(dict.fromkeys((*self.setup, *other.setup))),
            indexes=tuple(dict.fromkeys((*self.indexes, *other.indexes))),
            variables={**self.variables, **other.variables},
            gates=(*self.gates, *other.gates),
            notes=tuple(dict.fromkeys((*self.notes, *other.notes))),
        )


def hide(folder: str) -> str:
    """Return the command that keeps a folder out of the work, whatever the repository ignores."""
    return f"echo '*' > {folder}/.gitignore"


def after(first: str, argv: tuple[str, ...]) -> tuple[str, ...]:
    """Return the command that runs another one in the same shell after `first`.

    The other's words stay words of their own: they say which runner's results to expect.
    """
    if argv[:2] == ("bash", "-c") and argv[2].endswith(_RUN_IT):
        return ("bash", "-c", f"{first} && {argv[2]}", *argv[3:])
    return ("bash", "-c", f"{first} && {_RUN_IT}", "bash", *argv)


def as_typed(argv: Sequence[str]) -> str:
    """Return a command as a person would type it; one of `after` without the words around it."""
    if list(argv[:2]) == ["bash", "-c"] and argv[2].endswith(_RUN_IT):
        return f"{argv[2].removesuffix(_RUN_IT)}{shlex.join(argv[4:])}"
    return shlex.join(argv)
