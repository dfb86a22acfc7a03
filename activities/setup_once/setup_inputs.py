"""Decides which trees one set-up fits, and which of its inputs count. Pure.

Two things must be the same: the key (the commands, the environment, the copied files, and all
manifests and lock files), and the other files that set-up read. A set-up that reads the sources
(`pip install .`) is repeated when they change; one that reads only lock files fits trees with any
sources.

| set-up                               | a tree with                                 | fits      |
|--------------------------------------|---------------------------------------------|-----------|
| any                                  | another manifest or lock file               | no        |
| read a file                          | that file changed or gone                   | no        |
| read half of a folder's sources      | another name in that folder                 | no        |
| listed a folder                      | another folder in that folder               | no        |
| read README, LICENSE, .gitignore …   | these changed                               | yes       |
| ran where reads cannot be observed   | any difference                              | no        |
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from activities.ports.snapshot_port import InputsRead, SnapshotRecord
from workflows.domain.environment import ProjectEnvironment
from workflows.domain.repository import CopiedFile

Commands = tuple[tuple[str, ...], ...]
_FORMAT: Final = 1
_SHOWN: Final = {"toolchains", "root", "variables"}
"""What commands see of an environment; the source of packages does not matter."""
_MANIFESTS: Final = (
    *("pyproject.toml", "setup.py", "setup.cfg", "*requirements*.txt", "*requirements*.in"),
    *("constraints*.txt", "uv.lock", "uv.toml", "poetry.lock", "pdm.lock", "pylock*.toml"),
    *("Pipfile", "Pipfile.lock", ".python-version", "environment.y*ml", "conda-lock.yml"),
    *("package.json", "package-lock.json", "npm-shrinkwrap.json", ".npmrc", ".nvmrc"),
    *(".node-version", "pnpm-lock.yaml", "pnpm-workspace.yaml", ".pnpmfile.cjs", "yarn.lock"),
    *(".yarnrc", ".yarnrc.yml", "bun.lock", "bun.lockb", "bunfig.toml", "deno.json", "deno.lock"),
    *("Cargo.toml", "Cargo.lock", "rust-toolchain", "rust-toolchain.toml"),
    *("go.mod", "go.sum", "go.work", "go.work.sum", ".tool-versions", "mise.toml"),
    *("Gemfile", "Gemfile.lock", "*.gemspec", ".ruby-version", "composer.json", "composer.lock"),
    *("pom.xml", "build.gradle*", "settings.gradle*", "gradle.properties", "gradle.lockfile"),
    *("*.versions.toml", "gradle-wrapper.properties", "mix.exs", "mix.lock"),
    *("*.csproj", "*.fsproj", "packages.lock.json", "Package.swift", "Package.resolved"),
)
"""Names of files that say what is installed."""
_MADE_UP: Final = frozenset(
    {"test", "tests", "__tests__", "spec", "fixtures", "__fixtures__", "testdata", "examples"}
)
"""Folders whose manifests are mostly test data; a manifest that is read still counts."""
_HARMLESS: Final = (
    *("readme*", "license*", "licence*", "copying*", "notice*", "authors*", "changelog*"),
    *("changes*", "history*", "news*", "*.md", ".gitignore", ".gitattributes", ".mailmap"),
)
"""Packaging tools read these for their descriptions, and git reads them; neither affects
installs."""
_WORDS: Final = re.compile(r"[^\s'\"`;&|()<>=:,]+")


@dataclass(frozen=True)
class Grounds:
    """What a set-up depends on besides the tree."""

    repository: str
    """The repository's key on hosts: results of its code are not shared with another repository."""
    commands: Commands
    environment: ProjectEnvironment
    places: tuple[str, ...] = ()
    """The real paths behind the environment's names on this host."""
    copied: tuple[CopiedFile, ...] = ()
    """The person's files in the tree."""


def setup_key(grounds: Grounds, entries: Mapping[bytes, str]) -> str:
    """Return the key of a set-up, 64 hexadecimal digits.

    Args:
        grounds: what must be the same.
        entries: the tree, an object for each path.
    """
    commands = grounds.commands
    read = {_text(path): entries[path] for path in entries if _is_manifest(path)}
    read |= {_text(path): entries[path] for path in _named(commands) if path in entries}
    parts = [
        _FORMAT,
        grounds.repository,
        commands,
        grounds.environment.model_dump(mode="json", include=_SHOWN),
        sorted(grounds.places),
        sorted((file.path, file.content, file.executable) for file in grounds.copied),
        read,
    ]
    return _digest(json.dumps(parts, sort_keys=True))


def tree_digest(entries: Mapping[bytes, str]) -> str:
    """Return a digest of a whole tree."""
    lines = (path + b"\0" + entries[path].encode() for path in sorted(entries))
    return hashlib.sha256(b"\n".join(lines)).hexdigest()


def inputs_read(
    files: Iterable[bytes],
    folders: Iterable[bytes],
    commands: Commands,
    entries: Mapping[bytes, str],
) -> InputsRead:
    """Return the inputs of a set-up that count.

    Args:
        files: tracked files that it read.
        folders: folders that it listed.
        commands: the commands that ran.
        entries: the tree that it ran in.
    """
    read = sorted(path for path in files if not _is_harmless(path))
    told = _named(commands)
    sources = Counter(_above(path) for path in read if _is_source(path, told))
    there = Counter(_above(path) for path in entries if _is_source(path, told))
    names, below = _contents(entries)
    return InputsRead(
        files={_text(path): entries[path] for path in read},
        names={
            _text(each): _digest(names.get(each, ()))
            for each in sorted(sources)
            if 2 * sources[each] >= there[each]
        },
        folders={_text(each): _digest(below.get(each, ())) for each in sorted(folders)},
    )


def fits(record: SnapshotRecord, entries: Mapping[bytes, str]) -> bool:
    """Say whether a set-up would have the same results in this tree; see the table above."""
    if record.tree == tree_digest(entries):
        return True
    read = record.read
    if read is None:
        return False
    found = {_text(path): entry for path, entry in entries.items()}
    if any(found.get(path) != entry for path, entry in read.files.items()):
        return False
    names, below = _contents(entries)
    return _same(read.names, names) and _same(read.folders, below)


def _same(wanted: Mapping[str, str], found: Mapping[bytes, set[bytes]]) -> bool:
    texts = {_text(folder): inside for folder, inside in found.items()}
    return all(_digest(texts.get(folder, ())) == digest for folder, digest in wanted.items())


def _contents(
    entries: Mapping[bytes, str],
) -> tuple[dict[bytes, set[bytes]], dict[bytes, set[bytes]]]:
    """Return for each folder the names of all entries, and of its folders."""
    names: dict[bytes, set[bytes]] = {}
    below: dict[bytes, set[bytes]] = {}
    for path in entries:
        folder, _, name = path.rpartition(b"/")
        names.setdefault(folder, set()).add(name)
        while folder and folder.rpartition(b"/")[2] not in below.get(_above(folder), ()):
            above, _, name = folder.rpartition(b"/")
            names.setdefault(above, set()).add(name)
            below.setdefault(above, set()).add(name)
            folder = above
    return names, below


def _is_source(path: bytes, told: AbstractSet[bytes]) -> bool:
    return not (path in told or _is_manifest(path) or _is_harmless(path))


def _named(commands: Commands) -> set[bytes]:
    """Return the words of commands that may be paths, including those of a script."""
    words = {word for command in commands for part in command for word in _WORDS.findall(part)}
    programs = {word.rpartition("/")[2] for word in words}
    if programs & {"make", "gmake"}:
        words |= {"Makefile", "makefile", "GNUmakefile"}
    if "just" in programs:
        words |= {"justfile", "Justfile", ".justfile"}
    return {word.removeprefix("./").encode("utf-8", "surrogateescape") for word in words}


def _is_manifest(path: bytes) -> bool:
    *folders, name = _text(path).split("/")
    return not _MADE_UP.intersection(folders) and any(fnmatchcase(name, one) for one in _MANIFESTS)


def _is_harmless(path: bytes) -> bool:
    name = _text(path).rpartition("/")[2].casefold()
    return any(fnmatchcase(name, one) for one in _HARMLESS)


def _above(path: bytes) -> bytes:
    return path.rpartition(b"/")[0]


def _text(path: bytes) -> str:
    return path.decode("utf-8", "backslashreplace")


def _digest(of: str | Iterable[bytes]) -> str:
    data = of.encode() if isinstance(of, str) else b"\0".join(sorted(of))
    return hashlib.sha256(data).hexdigest()
