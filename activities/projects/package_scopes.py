"""Decides which changes concern a package of a monorepo. Pure.

They are changes in its own folder, in the packages that it names, and outside all packages. Only
packages that it names nowhere are left out; in doubt, a package counts as named.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from activities.projects.manifests import Files, json_object, table, toml

MAX_PATTERNS: Final = 60
"""With more patterns, the gates of a package run on every change."""
_SHORT: Final = 2
"""A shorter name is found everywhere, so it counts as named."""


def package_scope(files: Files, folder: str, folders: Sequence[str]) -> tuple[str, ...]:
    """Return the `paths` of a package's gates; empty: they run on every change.

    Args:
        files: every committed path with its bytes, if they were read.
        folder: the package's folder, with a final slash.
        folders: the folders of all packages.
    """
    named = _named_by(files, folder, folders)
    own = [f"{each}**" for each in folders if each in named]
    outside = {_widest(path, folders) for path in files if not path.startswith(tuple(folders))}
    patterns = (*own, *sorted(outside))
    return patterns if len(patterns) <= MAX_PATTERNS else ()


def _named_by(files: Files, folder: str, folders: Sequence[str]) -> set[str]:
    """Return the package with all packages that it names, directly or through others."""
    names = {each: _names(files, each) for each in folders}
    found, waiting = {folder}, [folder]
    while waiting:
        text = _text(files, waiting.pop())
        fresh = {each for each in folders if each not in found and _is_named(names[each], text)}
        found |= fresh
        waiting += sorted(fresh)
    return found


def _names(files: Files, folder: str) -> set[str]:
    inside = {path.removeprefix(folder): files[path] for path in files if path.startswith(folder)}
    said = (
        json_object(inside, "package.json").get("name"),
        table(toml(inside, "pyproject.toml"), "project").get("name"),
        table(toml(inside, "Cargo.toml"), "package").get("name"),
    )
    return {
        folder.rstrip("/").rpartition("/")[2],
        *(each for each in said if isinstance(each, str)),
    }


def _is_named(names: Iterable[str], text: str) -> bool:
    """Look for names as words, in any of the spellings of package tools."""
    return any(
        len(name) <= _SHORT or re.search(rf"(?<![\w]){_spelled(name)}(?![\w])", text)
        for name in names
        if name
    )


def _spelled(name: str) -> str:
    return "[-_.]".join(re.escape(part) for part in re.split("[-_.]", name))


def _text(files: Files, folder: str) -> str:
    parts = (files[path] for path in files if path.startswith(folder))
    return b"\n".join(parts).decode("utf-8", "replace")


def _widest(path: str, folders: Sequence[str]) -> str:
    """Return the widest pattern around a path that contains no package."""
    parts = path.split("/")
    for depth in range(1, len(parts)):
        prefix = "/".join(parts[:depth]) + "/"
        if not any(each.startswith(prefix) for each in folders):
            return f"{prefix}**"
    return "/".join((*parts[:-1], "*"))
