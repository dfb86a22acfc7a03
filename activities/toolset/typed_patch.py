"""A patch that a model types in bash, as some models are used to; the tool for patches runs it."""

import posixpath
import re
from typing import Final

from activities.ports.sandbox_port import WORKSPACE

_HERE = re.compile(
    r"\s*(?:cd\s+(?P<to>[\w./-]+)\s*(?:&&|;|\n)\s*)?apply_?patch\s+"
    r"(?:<<-?\s*(?P<quote>['\"]?)(?P<tag>\w+)(?P=quote)[ \t]*\n(?P<text>.*\n)(?P=tag)"
    r"|'(?P<word>\*\*\* Begin Patch[^']*)')\s*",
    re.DOTALL,
)
_PATH = re.compile(
    r"^(\*\*\* (?:Add File|Delete File|Update File|Move to):[ \t]*)(\S.*)$", re.MULTILINE
)
_TYPED = re.compile(r"apply_?patch: (?:command )?not found")
NOTE: Final = (
    "[`apply_patch` works in bash only as the whole command, with the patch in a here-document; or "
    "use the tool `edit`]"
)


def typed_patch(command: str, folder: str) -> str | None:
    """Return the patch that is all of a command, its paths relative to the workspace; else None.

    Args:
        command: for bash.
        folder: where it would start, relative to the workspace.
    """
    found = _HERE.fullmatch(command)
    if found is None:
        return None
    base = posixpath.join(WORKSPACE, folder, found["to"] or "")

    def placed(line: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(base, line[2].rstrip()))
        return line[1] + posixpath.relpath(path, WORKSPACE)

    return _PATH.sub(placed, found["text"] or found["word"])


def was_typed(output: str) -> bool:
    """Say whether bash looked in vain for a program of this name."""
    return _TYPED.search(output) is not None
