"""The proposal for a project: the toolchains that it requires, its set-up and its gates."""

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
    """As the project writes it (`3.12.8`, `>=3.11`, `v22`); empty if it names none."""
    evidence: str
    """The file that names it."""


class Proposal(BaseModel, frozen=True, extra="forbid"):
    """What one project, or one package of a monorepo, needs."""

    needs: tuple[ToolchainNeed, ...] = ()
    setup: tuple[str, ...] = ()
    """Shell commands, in order, to be run at the repository's root."""
    indexes: tuple[Index, ...] = ()
    """The package tools whose indexes set-up needs; each person's settings name the hosts."""
    variables: dict[str, str] = {}
    gates: tuple[GateSpec, ...] = ()
    notes: tuple[str, ...] = ()
    """Notes for a person, one sentence each."""

    def __add__(self, other: "Proposal") -> "Proposal":
        """Return both together, each part in order, without duplicates."""
        return Proposal(
            needs=tuple(dict.fromkeys((*self.needs, *other.needs))),
            setup=tuple(dict.fromkeys((*self.setup, *other.setup))),
            indexes=tuple(dict.fromkeys((*self.indexes, *other.indexes))),
            variables={**self.variables, **other.variables},
            gates=(*self.gates, *other.gates),
            notes=tuple(dict.fromkeys((*self.notes, *other.notes))),
        )


def hide(folder: str) -> str:
    """Return the command that makes git ignore a folder, whatever `.gitignore` files say."""
    return f"echo '*' > {folder}/.gitignore"


def after(first: str, argv: tuple[str, ...]) -> tuple[str, ...]:
    """Return the command that runs another one in the same shell after `first`.

    The words of the second command stay separate arguments, so that its runner is recognized.
    """
    if argv[:2] == ("bash", "-c") and argv[2].endswith(_RUN_IT):
        return ("bash", "-c", f"{first} && {argv[2]}", *argv[3:])
    return ("bash", "-c", f"{first} && {_RUN_IT}", "bash", *argv)


def as_typed(argv: Sequence[str]) -> str:
    """Return a command as a person would type it; for one made by `after`, only the second part."""
    if list(argv[:2]) == ["bash", "-c"] and argv[2].endswith(_RUN_IT):
        return f"{argv[2].removesuffix(_RUN_IT)}{shlex.join(argv[4:])}"
    return shlex.join(argv)
