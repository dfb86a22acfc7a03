"""The description of a third-party project: its releases, its kinds, and a change to it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Source = Literal["pypi", "npm", "debian"]
Kind = Literal[
    "compiled",
    "third-party tests",
    "uv",
    "src layout",
    "extras",
    "doctests",
    "pytest-xdist",
    "npm",
    "pnpm",
    "TypeScript build",
    "node --test",
    "Rust",
    "monorepo",
]


@dataclass(frozen=True)
class Archive:
    """One release, by the name under which its registry knows it."""

    source: Source
    name: str
    version: str
    sha256: str


@dataclass(frozen=True)
class Part:
    """A folder of the repository, and the release that it comes from."""

    archive: Archive
    folder: str = "."
    lock: Literal["", "npm", "pnpm"] = ""
    """The package manager that writes the lock file, which npm does not publish."""
    resolved_before: str = ""
    """A date such as `2025-06-01`: npm's lock file names only releases before it."""
    built: tuple[str, ...] = ()
    """Folders that a release has and its repository ignores, because a build makes them."""


@dataclass(frozen=True)
class Project:
    """A repository, its kinds, and one small change with a test for it."""

    name: str
    kinds: tuple[Kind, ...]
    parts: tuple[Part, ...]
    appended: Mapping[str, str]
    """What the scripted developer appends, by the file's path: code, then its test."""
    toolchains: tuple[Literal["rust"], ...] = ()
    """What users have in their home directory for it."""
    ignored: tuple[str, ...] = field(default=())
    """Lines of its `.gitignore`, if the release lacks that file."""
