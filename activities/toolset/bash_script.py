"""A model's command as bash gets it, and what bash says of its end besides the output.

The command starts in the folder where the last one ended. At its end a trap prints, after a mark
that no command can guess, the codes of all members of the last pipe and the folder.
"""

import posixpath
import re
import shlex
from typing import NamedTuple

from activities.ports.sandbox_port import WORKSPACE

LONGEST_BYTES = 1_000_000
"""Of one command; more is what `write` is for."""
LONGEST_FOLDER = 1_000
_ARGUMENT_BYTES = 100_000
"""The kernel takes 128 KiB for one argument; a longer command is passed as a file."""

_PRELUDE = (
    'exec 250>&1; trap \'printf "\\n{mark} ${{PIPESTATUS[*]}}\\n%s\\n{mark}\\n" '
    '"$(pwd -P 2>/dev/null)" >&250\' EXIT; {before}'
)
"""Precedes the command, on its first line so that bash's line numbers are right."""
_ENTER = "cd -- {folder} 2>/dev/null || {{ cd {root}; printf %s {gone}; exit 1; }}; "
_GONE = (
    "Not run: the folder {folder!r}, in which your last command ended, is gone. "
    "The next command starts at the root of the workspace."
)
_HEAD = "[ ! -d /git/base-objects ] || git reset -q >/dev/null 2>&1; "
"""Between turns the index holds the last checkpoint; a command sees all changes since the base."""
_FROM_FILE = 'IFS= read -r -d "" command; exec </dev/null; eval "$command"'


class Script(NamedTuple):
    """What to start."""

    argv: tuple[str, ...]
    stdin: bytes


class End(NamedTuple):
    """What bash said besides the output."""

    output: bytes
    members: tuple[int, ...]
    """The codes of the last pipe's members; empty if unknown."""
    folder: str | None
    """Absolute; None if unknown."""


def fault(command: str) -> str:
    """Say why bash cannot be given a command; empty if it can."""
    if "\0" in command:
        return "bash: not run: the command holds a NUL character; write it as `\\0` to `printf`."
    size = len(command.encode("utf-8", "replace"))
    if size <= LONGEST_BYTES:
        return ""
    return (
        f"bash: not run: the command has {size} bytes, at most {LONGEST_BYTES} are possible. "
        "Write long texts with the tool `write`, or in several commands."
    )


def script(command: str, folder: str, mark: str) -> Script:
    """Return how to run a command.

    Args:
        command: as the model wrote it, at most `LONGEST_BYTES`.
        folder: where it starts, relative to the workspace; empty for its root.
        mark: unguessable.
    """
    before = _HEAD if "git" in command else ""
    if folder:
        gone = shlex.quote(_GONE.format(folder=folder))
        before += _ENTER.format(folder=shlex.quote(folder), root='"$PWD"', gone=gone)
    prelude = _PRELUDE.format(mark=mark, before=before)
    text = command.encode("utf-8", "replace")
    if len(text) <= _ARGUMENT_BYTES:
        return Script(("bash", "-c", prelude + command), b"")
    return Script(("bash", "-c", prelude + _FROM_FILE), text)


def read_end(output: bytes, mark: str) -> End:
    """Take what the trap printed out of the output."""
    name = mark.encode()
    found = re.search(rb"\n?%s((?: \d+)*)\n(.*?)\n%s\n" % (name, name), output, re.DOTALL)
    if found is None:
        return End(output, (), None)
    rest = output[: found.start()] + output[found.end() :]
    members = tuple(int(code) for code in found[1].split())
    return End(rest, members, found[2].decode("utf-8", "surrogateescape") or None)


def kept_folder(ended_in: str | None, before: str, root: str) -> str:
    """Return where the next command starts, relative to the workspace; empty for its root.

    Args:
        ended_in: where the last command ended, absolute; None if unknown.
        before: where it started.
        root: the workspace, as the command saw it if not at `WORKSPACE`.
    """
    inside = _inside(ended_in, root)
    if inside is None or len(inside) > LONGEST_FOLDER or not inside.isprintable():
        return before
    return inside


def folder_notes(ended_in: str | None, folder: str, root: str) -> list[str]:
    """Tell the model where its next command starts, if that is not plain."""
    if ended_in is not None and _inside(ended_in, root) is None:
        place = repr(folder) if folder else "the root of the workspace"
        return [f"[{ended_in!r} is outside the workspace: the next command starts in {place}]"]
    return [f"[folder: {folder}]"] if folder else []


def _inside(path: str | None, root: str) -> str | None:
    for top in (WORKSPACE, root):
        if path is not None and (path == top or path.startswith(f"{top}/")):
            relative = posixpath.relpath(path, top)
            return "" if relative == "." else relative
    return None
