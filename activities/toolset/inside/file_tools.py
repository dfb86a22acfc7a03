"""The file tools, run inside the sandbox: one request on stdin, one answer on stdout.

This module and its parts (`file_access`, `file_edit`, `file_hunks`, `file_patch`) run as a separate
program with the standard library only, so that every file access happens within the sandbox's own
view. They arrive compiled on stdin, with the request, and import almost nothing, because starting
Python is most of a file tool's cost.

The program works on bytes and never decodes with loss. It does not decide what a task may write: a
request that writes names the resolved paths that were judged and allowed. For any other path the
answer is the path that must be judged first.

Requests: {"op": "read", "path", "offset", "limit"}, {"op": "write", "path", "content", "judged"},
{"op": "edit", "path", "old", "new", "replace_all", "judged"}, {"op": "apply_patch", "changes",
"judged"}.
Answers: a line `text`, `error` or `judge`, then the text, the reason or the path.
"""

import os
import sys

from activities.toolset.inside.file_access import (
    RefusedError,
    UnjudgedError,
    load,
    require_text,
    resolve,
    shown,
    store,
    target,
)
from activities.toolset.inside.file_edit import applied, find, line_number, not_found
from activities.toolset.inside.file_patch import patch

TYPE_CHECKING = False  # `typing` would cost as much as all the rest
if TYPE_CHECKING:
    from typing import Literal, TypedDict

    from activities.toolset.inside.file_patch import Change

    class Read(TypedDict):
        """Read lines, from 1."""

        op: Literal["read"]
        path: str
        offset: int
        limit: int

    class Write(TypedDict):
        """Write a file whole."""

        op: Literal["write"]
        path: str
        content: str
        judged: list[str]

    class Edit(TypedDict):
        """Replace a span of text."""

        op: Literal["edit"]
        path: str
        old: str
        new: str
        replace_all: bool
        judged: list[str]

    class ApplyPatch(TypedDict):
        """Change several files."""

        op: Literal["apply_patch"]
        changes: list[Change]
        judged: list[str]

    Request = Read | Write | Edit | ApplyPatch
    Answer = tuple[str, str]

LONGEST_LINE = 2_000
MOST_CHARACTERS = 9_000
MOST_NAMES = 500


def read(root: str, request: "Read") -> str:
    """Return lines `offset` to `offset + limit`, numbered, and how many there are."""
    path = os.path.join(root, resolve(request["path"], root))
    if os.path.isdir(path):
        return _listing(path)
    data = load(path)
    require_text(path, data)
    lines = data.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    if not lines:
        return "(empty file)"
    first = request["offset"]
    if first > len(lines):
        raise RefusedError(
            f"{request['path']!r} has {len(lines)} lines; offset {first} is past the end."
        )
    part = _fitting(lines[first - 1 : first - 1 + request["limit"]], first)
    last = first + len(part) - 1
    if first > 1 or last < len(lines):
        more = f"; go on with offset {last + 1}" if last < len(lines) else ""
        part.append(f"(lines {first} to {last} of {len(lines)}{more})")
    return "\n".join([*part, *_peculiarities(data)])


def _fitting(lines: list[bytes], first: int) -> list[str]:
    """Number the lines, and stop before the observation would have to be cut in the middle."""
    part: list[str] = []
    size = 0
    for number, line in enumerate(lines, first):
        part.append(f"{number:6}\t{_line(line)}")
        size += len(part[-1]) + 1
        if size > MOST_CHARACTERS:
            return part[:-1] or part
    return part


def _line(line: bytes) -> str:
    text = line.removesuffix(b"\r").decode("utf-8", "replace")
    if len(text) <= LONGEST_LINE:
        return text
    return f"{text[:LONGEST_LINE]}… ({len(text) - LONGEST_LINE} more characters in this line)"


def _peculiarities(data: bytes) -> list[str]:
    notes: list[str] = []
    crlf, lf = data.count(b"\r\n"), data.count(b"\n")
    if crlf:
        notes.append("(line ends: CRLF)" if crlf == lf else "(line ends: CRLF and LF, mixed)")
    if data.startswith(b"\xef\xbb\xbf"):
        notes.append("(starts with a UTF-8 byte order mark)")
    if not data.endswith(b"\n"):
        notes.append("(no newline at the end)")
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        notes.append("(not UTF-8: foreign bytes are shown as U+FFFD and kept by edit)")
    return notes


def _listing(path: str) -> str:
    names = sorted(os.listdir(path))
    marked = [one + "/" if os.path.isdir(os.path.join(path, one)) else one for one in names]
    cut = [f"… and {len(marked) - MOST_NAMES} more"] if len(marked) > MOST_NAMES else []
    return "\n".join(["(a folder)", *map(shown, marked[:MOST_NAMES]), *cut])


def write(root: str, request: "Write") -> str:
    """Write a whole file; an existing file keeps its mode, and a link stays a link."""
    path = target(root, request["path"], request["judged"])
    content = request["content"].encode()
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise RefusedError(
            f"{request['path']!r}: a part of its path is a file, not a folder."
        ) from None
    existed = os.path.lexists(path)
    if existed:
        before = load(path)
        if before == content:
            return f"{request['path']} already has this content; nothing changed."
    store(path, content)
    lines = content.count(b"\n") + (not content.endswith(b"\n") and content != b"")
    return f"{'Replaced' if existed else 'Created'} {request['path']} ({lines} lines)."


def edit(root: str, request: "Edit") -> str:
    """Replace one span of text (or all equal ones); every other byte stays the same."""
    path = target(root, request["path"], request["judged"])
    data = load(path)
    require_text(path, data)
    old, new = request["old"].encode(), request["new"].encode()
    if not old:
        raise RefusedError("`old` is empty. Quote the text to replace; use write for a new file.")
    changes, loosely = find(data, old, new)
    if not changes:
        raise RefusedError(not_found(data, old))
    if len(changes) > 1 and (loosely or not request["replace_all"]):
        raise RefusedError(_several(data, [start for start, _, _ in changes], loosely=loosely))
    changed = applied(data, changes)
    if changed == data:
        raise RefusedError("`old` and `new` are the same; nothing would change.")
    store(path, changed)
    how = " (white space at line ends or the indentation differed)" if loosely else ""
    where = f"{len(changes)} places, first" if len(changes) > 1 else "at"
    first = line_number(data, changes[0][0])
    return f"Edited {request['path']}: {where} line {first}{how}."


def _several(data: bytes, starts: list[int], *, loosely: bool) -> str:
    lines = ", ".join(str(line_number(data, start)) for start in starts[:20])
    found = f"`old` is found {len(starts)} times (lines {lines})"
    if loosely:
        return f"{found}, and only but for white space. Quote one place exactly as it is."
    return f"{found}. Quote more of its surroundings, or set replace_all."


def answer(request: "Request", root: str) -> "Answer":
    """Carry out one request."""
    try:
        return "text", _done(request, root)
    except RefusedError as refusal:
        return "error", str(refusal)
    except UnjudgedError as unjudged:
        return "judge", str(unjudged)
    except OSError as error:
        name = request.get("path", error.filename)
        return "error", f"{name!r}: {error.strerror or error}."


def _done(request: "Request", root: str) -> str:
    if request["op"] == "read":
        return read(root, request)
    if request["op"] == "write":
        return write(root, request)
    if request["op"] == "edit":
        return edit(root, request)
    return patch(root, request["changes"], request["judged"])


def main(request: "Request") -> None:
    """Answer a request; the working directory is the workspace."""
    kind, text = answer(request, os.getcwd())
    # As text, because an agent's bytes must not be unmarshalled.
    sys.stdout.buffer.write(f"{kind}\n{text}".encode("utf-8", "replace"))
    sys.stdout.buffer.flush()
    # Taking the interpreter down costs a fifth of what this process costs, and does nothing here.
    os._exit(0)
