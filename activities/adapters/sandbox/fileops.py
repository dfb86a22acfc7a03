"""The file tools, run inside the sandbox: one request on stdin, one answer on stdout.

This module is executed as a program of its own, with the standard library only, so that every
access to a file happens where nothing but the sandbox's own view exists. It comes compiled on
stdin, before the request, and imports next to nothing: starting Python is most of what a file tool
costs.

It works on bytes and never decodes with loss. It does not decide what a task may write: a request
that writes names the resolved paths that were judged and allowed, and any other is answered with
the path that has to be judged first.

Requests: {"op": "read", "path", "offset", "limit"}, {"op": "write", "path", "content", "judged"},
{"op": "edit", "path", "old", "new", "replace_all", "judged"}.
Answers: a line `text`, `error` or `judge`, then the text, the reason or the path.
"""

import marshal
import os
import stat
import sys

TYPE_CHECKING = False  # `typing` would cost as much as all the rest
if TYPE_CHECKING:
    from typing import Any

    Request = dict[str, Any]
    Answer = tuple[str, str]
    Changes = list[tuple[int, int, bytes]]

WORKSPACE = "/workspace"
LARGEST_BYTES = 16 << 20
LONGEST_LINE = 2_000
MOST_CHARACTERS = 9_000
MOST_NAMES = 500
NEAREST = 3


class RefusedError(Exception):
    """The answer is this sentence."""


class UnjudgedError(Exception):
    """The answer is the resolved path."""


def resolve(path: str, root: str) -> str:
    """Return the real path relative to `root`, all links followed; the last part may be absent."""
    if not path or "\0" in path:
        raise RefusedError(
            "The path is empty or holds a NUL byte. Name a file below the workspace."
        )
    if path == WORKSPACE or path.startswith(WORKSPACE + "/"):
        path = path[len(WORKSPACE) + 1 :] or "."
    whole = os.path.join(root, path)
    real, top = os.path.realpath(whole), os.path.realpath(root)
    if os.path.commonpath([real, top]) != top:
        raise RefusedError(_outside(path, whole, real, top))
    return os.path.relpath(real, top)


def _outside(path: str, whole: str, real: str, top: str) -> str:
    lexically = os.path.normpath(whole)
    if lexically == top or lexically.startswith(top + "/"):
        return (
            f"{path!r} leads outside the workspace through a symbolic link (to {real!r}). "
            "Rule: links that leave the workspace are not followed."
        )
    return f"{path!r} is outside the workspace. Rule: only files below {WORKSPACE!r} are reached."


def load(path: str) -> bytes:
    """Read a regular file whole, without ever waiting on a FIFO or a device."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    except FileNotFoundError:
        raise RefusedError(_absent(path)) from None
    except OSError as error:
        raise RefusedError(f"{shown(path)!r} cannot be opened: {error.strerror}.") from None
    with open(fd, "rb", closefd=True) as file:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            raise RefusedError(f"{shown(path)!r} is {_kind(found.st_mode)}, not a file.")
        if found.st_size > LARGEST_BYTES:
            raise RefusedError(
                f"{shown(path)!r} has {found.st_size} bytes; the largest that this tool takes is "
                f"{LARGEST_BYTES}. Use bash (head, sed -n, grep)."
            )
        return file.read()


def _kind(mode: int) -> str:
    kinds = (
        (stat.S_ISDIR, "a folder"),
        (stat.S_ISFIFO, "a FIFO"),
        (stat.S_ISSOCK, "a socket"),
    )
    return next((name for test, name in kinds if test(mode)), "a device")


def _absent(path: str) -> str:
    folder, name = os.path.split(path)
    try:
        near = sorted(os.listdir(folder), key=lambda one: -_likeness(name, one))[:NEAREST]
    except OSError:
        return f"{shown(path)!r} does not exist, and neither does its folder."
    there = ", ".join(repr(shown(one)) for one in near) or "nothing"
    return f"{shown(path)!r} does not exist. Nearest in its folder: {there}."


def _likeness(one: str, other: str) -> float:
    pairs, others = ({text[i : i + 2] for i in range(len(text))} for text in (one, other))
    return len(pairs & others) / (len(pairs | others) or 1)


def require_text(path: str, data: bytes) -> None:
    """Refuse what cannot be shown or edited without loss."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise RefusedError(
            f"{shown(path)!r} is UTF-16 text, which this tool does not take. Use bash."
        )
    if b"\0" in data:
        raise RefusedError(f"{shown(path)!r} is binary (it holds NUL bytes). Use bash.")


def shown(text: str) -> str:
    """A name as text, whatever its bytes."""
    return os.fsencode(text).decode("utf-8", "replace")


def read(root: str, request: "Request") -> str:
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
    """Number the lines, and stop before the observation would have to be cut in its middle."""
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


def write(root: str, request: "Request") -> str:
    """Write a file whole; an existing one keeps its mode, and a link its being a link."""
    path = _target(root, request)
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
    _store(path, content)
    lines = content.count(b"\n") + (not content.endswith(b"\n") and content != b"")
    return f"{'Replaced' if existed else 'Created'} {request['path']} ({lines} lines)."


def _target(root: str, request: "Request") -> str:
    """Return the real path, once it was judged."""
    resolved = resolve(request["path"], root)
    if resolved == ".":
        raise RefusedError(f"{request['path']!r} is the workspace itself. Name a file.")
    if ".git" in (part.lower() for part in resolved.split("/")):
        raise RefusedError(f"{request['path']!r} is git's own. Rule: `.git` is never written.")
    if resolved not in request["judged"]:
        raise UnjudgedError(resolved)
    return os.path.join(root, resolved)


def _store(path: str, content: bytes) -> None:
    """Replace the content in place, so that mode, owner and hard links stay."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
    with open(fd, "wb") as file:
        file.write(content)
        file.truncate()


def edit(root: str, request: "Request") -> str:
    """Replace one span of text (or all equal ones); every other byte stays as it was."""
    path = _target(root, request)
    data = load(path)
    require_text(path, data)
    old, new = request["old"].encode(), request["new"].encode()
    if not old:
        raise RefusedError("`old` is empty. Quote the text to replace; use write for a new file.")
    changes, loosely = find(data, old, new)
    if not changes:
        raise RefusedError(_not_found(data, old))
    if len(changes) > 1 and not request["replace_all"]:
        lines = ", ".join(str(_line_number(data, start)) for start, _, _ in changes[:20])
        raise RefusedError(
            f"`old` is found {len(changes)} times (lines {lines}). Quote more of its surroundings, "
            "or set replace_all."
        )
    changed = applied(data, changes)
    if changed == data:
        raise RefusedError("`old` and `new` are the same; nothing would change.")
    _store(path, changed)
    how = " (white space at line ends or the indentation differed)" if loosely else ""
    where = f"{len(changes)} places, first" if len(changes) > 1 else "at"
    first = _line_number(data, changes[0][0])
    return f"Edited {request['path']}: {where} line {first}{how}."


def _line_number(data: bytes, at: int) -> int:
    return data.count(b"\n", 0, at) + 1


def find(data: bytes, old: bytes, new: bytes) -> "tuple[Changes, bool]":
    """Find what to replace: exactly, else with the other line ends, else whole lines loosely.

    Returns:
        Changes (start, end, new bytes) in order, and whether they were found loosely.
    """
    for wanted in dict.fromkeys((old, old.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))):
        changes: Changes = []
        at = data.find(wanted)
        while at >= 0:
            end = at + len(wanted)
            changes.append((at, end, _with_line_ends(data, at, new)))
            at = data.find(wanted, end)
        if changes:
            return changes, False
    return _find_loosely(data, old, new), True


def _find_loosely(data: bytes, old: bytes, new: bytes) -> "Changes":
    """Find runs of lines that differ only in trailing white space and one common indentation."""
    wanted = old.removesuffix(b"\n").split(b"\n")
    bare = [line.strip() for line in wanted]
    if not any(bare):
        return []
    lines = data.split(b"\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    changes: Changes = []
    row = 0
    while row + len(wanted) <= len(lines):
        here = lines[row : row + len(wanted)]
        shifted = None
        if bare[0] == here[0].strip() and bare == [line.strip() for line in here]:
            shifted = _shifted(here, wanted, new)
        if shifted is None:
            row += 1
            continue
        start, end = starts[row], min(starts[row + len(wanted)], len(data))
        if not old.endswith(b"\n"):
            end = _before_line_end(data, end)
        changes.append((start, end, _with_line_ends(data, start, shifted)))
        row += len(wanted)
    return changes


def _shifted(here: list[bytes], wanted: list[bytes], new: bytes) -> bytes | None:
    """Indent `new` as the file is; None where indentations differ by more than one prefix."""
    pairs = zip(here, wanted, strict=True)
    moves = {_move(_indent(there), _indent(quoted)) for there, quoted in pairs if there.strip()}
    move = moves.pop()
    if moves or move is None:
        return None
    added, removed = move
    lines = new.split(b"\n")
    if any(line.strip() and not line.startswith(removed) for line in lines):
        return None
    return b"\n".join(added + line[len(removed) :] if line.strip() else line for line in lines)


def _move(there: bytes, quoted: bytes) -> tuple[bytes, bytes] | None:
    if there.endswith(quoted):
        return there[: len(there) - len(quoted)], b""
    if quoted.endswith(there):
        return b"", quoted[: len(quoted) - len(there)]
    return None


def _indent(line: bytes) -> bytes:
    return line[: len(line) - len(line.lstrip(b" \t"))]


def _before_line_end(data: bytes, end: int) -> int:
    end -= data.endswith(b"\n", 0, end)
    return end - data.endswith(b"\r", 0, end)


def applied(data: bytes, changes: "Changes") -> bytes:
    """Carry out the changes; all bytes between them stay."""
    parts: list[bytes] = []
    at = 0
    for start, end, new in changes:
        parts += [data[at:start], new]
        at = end
    return b"".join([*parts, data[at:]])


def _with_line_ends(data: bytes, start: int, new: bytes) -> bytes:
    """Give `new` the line ends of the span, or of the nearest line end after or before it."""
    if b"\n" not in new or b"\r\n" in new:
        return new
    at = data.find(b"\n", start)
    at = data.rfind(b"\n", 0, start) if at < 0 else at
    return new.replace(b"\n", b"\r\n") if at > 0 and data[at - 1 : at] == b"\r" else new


def _not_found(data: bytes, old: bytes) -> str:
    wanted = max(old.decode().split("\n"), key=lambda line: len(line.strip())).strip()
    rows = list(enumerate(data.decode("utf-8", "replace").split("\n"), 1))
    ranked = sorted(rows, key=lambda row: (-_likeness(wanted, row[1].strip()), row[0]))[:NEAREST]
    near = [f"{number:6}\t{text[:200].rstrip()}" for number, text in sorted(ranked) if text.strip()]
    if not near:
        return "`old` is not in the file, which has no text in it."
    foreign = "\N{REPLACEMENT CHARACTER}" in wanted
    hint = "Bytes shown as U+FFFD cannot be quoted: quote round them." if foreign else ""
    return "\n".join(["`old` is not in the file. Nearest lines:", *near, hint or "Read it again."])


def answer(request: "Request", root: str) -> "Answer":
    """Carry out one request."""
    try:
        operations = {"read": read, "write": write, "edit": edit}
        return "text", operations[request["op"]](root, request)
    except RefusedError as refusal:
        return "error", str(refusal)
    except UnjudgedError as unjudged:
        return "judge", str(unjudged)
    except OSError as error:
        return "error", f"{request['path']!r}: {error.strerror or error}."


if __name__ == "__main__":
    # Only from outside to inside; what comes back is text, for nobody should unmarshal an agent's.
    kind, text = answer(marshal.load(sys.stdin.buffer), os.getcwd())  # noqa: S302 -- as above
    sys.stdout.buffer.write(f"{kind}\n{text}".encode("utf-8", "replace"))
