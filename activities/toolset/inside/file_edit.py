"""Finds the text that an edit replaces: exactly, else with other line ends, else loosely by lines.

A part of the program that the file tools send into the sandbox (see `file_tools`): the standard
library only. It works on bytes: text that is not replaced stays the same, whatever its encoding.
"""

from activities.toolset.inside.file_access import NEAREST, likeness

TYPE_CHECKING = False  # `typing` would cost as much as all the rest
if TYPE_CHECKING:
    from collections.abc import Iterable

    Changes = list[tuple[int, int, bytes]]
    Move = tuple[bytes, bytes]


def line_number(data: bytes, at: int) -> int:
    """Return the number of the line that holds byte `at`, from 1."""
    return data.count(b"\n", 0, at) + 1


def find(data: bytes, old: bytes, new: bytes) -> "tuple[Changes, bool]":
    """Find the text to replace: exactly, else with other line ends, else loosely by lines.

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
    """Indent `new` like the file; None if indentations differ by more than one prefix."""
    move = common_move(here, wanted)
    if move is None:
        return None
    lines = [moved(line, move) for line in new.split(b"\n")]
    return None if None in lines else b"\n".join(line for line in lines if line is not None)


def common_move(here: list[bytes], wanted: list[bytes]) -> "Move | None":
    """Return the prefix that all quoted lines lack, and the one that they have in excess.

    None: their indentations differ from the file's by more than one prefix.
    """
    pairs = zip(here, wanted, strict=True)
    moves = {_move(_indent(there), _indent(quoted)) for there, quoted in pairs if there.strip()}
    return moves.pop() if len(moves) == 1 else None


def moved(line: bytes, move: "Move") -> bytes | None:
    """Indent one line like the file; None if it lacks the prefix to remove."""
    added, removed = move
    if not line.strip():
        return line
    return added + line[len(removed) :] if line.startswith(removed) else None


def _move(there: bytes, quoted: bytes) -> "Move | None":
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


def not_found(data: bytes, old: bytes) -> str:
    """Say that `old` was not found, and show the most similar lines."""
    wanted = longest_line(old.split(b"\n"))
    near = nearest(data, wanted)
    if not near:
        return "`old` is not in the file, which has no text in it."
    return "\n".join(["`old` is not in the file. Nearest lines:", *near, _hint(old, wanted)])


def _hint(old: bytes, wanted: str) -> str:
    first, tab, _ = old.partition(b"\t")
    if tab and first.strip().isdigit():
        return "Quote without the line numbers that read puts before each line."
    if "\N{REPLACEMENT CHARACTER}" in wanted:
        return "Bytes shown as U+FFFD cannot be quoted: quote round them."
    return "Read it again."


def longest_line(lines: "Iterable[bytes]") -> str:
    """Return the line with the most text."""
    return max((line.decode("utf-8", "replace").strip() for line in lines), key=len)


def nearest(data: bytes, wanted: str) -> list[str]:
    """Return the lines most similar to `wanted`, numbered, in the file's order."""
    rows = list(enumerate(data.decode("utf-8", "replace").split("\n"), 1))
    ranked = sorted(rows, key=lambda row: (-likeness(wanted, row[1].strip()), row[0]))[:NEAREST]
    return [f"{number:6}\t{text[:200].rstrip()}" for number, text in sorted(ranked) if text.strip()]
