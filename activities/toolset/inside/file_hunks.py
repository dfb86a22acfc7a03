"""Fits the hunks of a patch to one file's bytes, and says why one does not fit.

A part of the program that the file tools send into the sandbox (see `file_tools`): the standard
library only; it accesses no file. Lines of context and all lines between hunks keep their bytes.
Added lines take the line ends of the lines next to them, and their indentation if only that
differs.
"""

from activities.toolset.inside.file_access import RefusedError
from activities.toolset.inside.file_edit import common_move, longest_line, moved, nearest

TYPE_CHECKING = False  # `typing` would cost as much as all the rest
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypedDict

    from activities.toolset.inside.file_edit import Move

    class Hunk(TypedDict):
        """One place to change."""

        anchors: Sequence[str]
        """Whole lines, in the file's order, that must precede it."""
        lines: Sequence[Sequence[str]]
        """Sign (space, `+` or `-`) and text."""
        at_end: bool

    Line = tuple[bytes, bytes]

_MOST_PLACES = 10


def fitted(path: str, data: bytes, hunks: "Sequence[Hunk]") -> tuple[bytes, list[int]]:
    """Fit hunks, in order, to a file's bytes.

    Args:
        path: for messages.
        data: the file.
        hunks: {"anchors": preceding lines, "lines": (sign, text) pairs, "at_end"}.

    Returns:
        The new bytes, and the numbers of the hunks that fitted except for white space.

    Raises:
        RefusedError: a hunk fits nowhere, or in several places.
    """
    lines = _split(data)
    made: list[Line] = []
    loose: list[int] = []
    at = 0
    for number, hunk in enumerate(hunks, 1):
        fit = _Fitting(path, data, [text for text, _ in lines], number, hunk)
        start, move = fit.place(at)
        if move is not None:
            loose.append(number)
        made += lines[at:start]
        at = _take(hunk, lines, start, made, move)
    return _joined(made + lines[at:], keeps_open_end=bool(lines) and not lines[-1][1]), loose


def _split(data: bytes) -> "list[Line]":
    """Split into lines and their ends: LF, CRLF, or none for an unterminated last line."""
    *whole, rest = data.split(b"\n")
    lines = [(line[:-1], b"\r\n") if line.endswith(b"\r") else (line, b"\n") for line in whole]
    return [*lines, (rest, b"")] if rest else lines


def _joined(lines: "list[Line]", *, keeps_open_end: bool) -> bytes:
    """Join them; only the last line may lack an end, and does if the file's last line did."""
    parts: list[bytes] = []
    end = b"\n"
    for place, (text, own) in enumerate(lines):
        is_last = place == len(lines) - 1
        end = own or end
        parts += [text, b"" if is_last and keeps_open_end else end]
    return b"".join(parts)


def _take(
    hunk: "Hunk", lines: "list[Line]", at: int, made: "list[Line]", move: "Move | None"
) -> int:
    """Append the result of a hunk on the lines from `at` on; return the line after them.

    A line that replaces another also takes its line end.
    """
    ends: list[bytes] = []
    for sign, text in hunk["lines"]:
        if sign == "+":
            new = text.encode()
            end = (ends.pop(0) if ends else b"") or _usual_end(lines, at)
            made.append((new if move is None else moved(new, move) or new, end))
            continue
        if sign == " ":
            ends.clear()
            made.append(lines[at])
        else:
            ends.append(lines[at][1])
        at += 1
    return at


def _usual_end(lines: "list[Line]", at: int) -> bytes:
    near = [*lines[at : at + 1], *lines[max(at - 1, 0) : at], *lines[max(at - 2, 0) : at]]
    return next((end for _, end in near if end), b"\n")


class _Fitting:
    """Finds the place of one hunk."""

    def __init__(
        self, path: str, data: bytes, lines: list[bytes], number: int, hunk: "Hunk"
    ) -> None:
        self._path = path
        self._data = data
        self._lines = lines
        self._name = f"Hunk {number} of {path!r}"
        self._hunk = hunk
        self._old = [text.encode() for sign, text in hunk["lines"] if sign != "+"]

    def place(self, first: int) -> "tuple[int, Move | None]":
        """Return its first line, and the change of indentation if it fits loosely."""
        start = self._after_anchors(first)
        if not self._old:
            return self._adding_only(), None
        exact = [row for row in self._rows(start) if self._at(row) == self._old]
        if exact:
            return self._chosen(exact), None
        loose = [(row, move) for row in self._rows(start) if (move := self._move(row)) is not None]
        if not loose:
            raise self._refusal(self._misfit(start))
        self._chosen([row for row, _ in loose], is_loose=True)
        return loose[0]

    def _rows(self, start: int) -> "Sequence[int]":
        last = len(self._lines) - len(self._old)
        if self._hunk["at_end"]:
            return [last] if last >= start else []
        return range(start, last + 1)

    def _at(self, row: int) -> list[bytes]:
        return self._lines[row : row + len(self._old)]

    def _move(self, row: int) -> "Move | None":
        here = self._at(row)
        is_alike = all(a.strip() == b.strip() for a, b in zip(here, self._old, strict=True))
        if not is_alike or not any(line.strip() for line in here):
            return None
        move = common_move(here, self._old)
        added = [text.encode() for sign, text in self._hunk["lines"] if sign == "+"]
        if move is None or any(moved(line, move) is None for line in added):
            return None
        return move

    def _after_anchors(self, first: int) -> int:
        for anchor in self._hunk["anchors"]:
            wanted = anchor.encode().strip()
            rows = range(first, len(self._lines))
            found = next((row for row in rows if self._lines[row].strip() == wanted), None)
            if found is None:
                near = nearest(self._data, anchor.strip())
                text = f"its line '@@ {anchor}' is not in the file{_after(first)}. Nearest lines:"
                raise self._refusal("\n".join([text, *near]))
            # Some models repeat the header's line as the first line of context.
            first = found if self._old[:1] and self._old[0].strip() == wanted else found + 1
        return first

    def _adding_only(self) -> int:
        if self._hunk["at_end"] or not self._lines:
            return len(self._lines)
        raise self._refusal(
            "it only adds, and has no context. Quote a line beside the place, or end the hunk with "
            "*** End of File"
        )

    def _chosen(self, rows: list[int], *, is_loose: bool = False) -> int:
        """Choose the first place after a header line; without one there must be only one place."""
        if len(rows) == 1 or (self._hunk["anchors"] and not is_loose):
            return rows[0]
        places = ", ".join(str(row + 1) for row in rows[:_MOST_PLACES])
        how = ", but for white space," if is_loose else ""
        raise self._refusal(
            f"it fits{how} at {len(rows)} places (lines {places}). Quote more context, or name a "
            "line before it with @@"
        )

    def _misfit(self, start: int) -> str:
        count = len(self._old)
        what = f"its {count} lines of context and removal stand" if count > 1 else "its line stands"
        elsewhere = [row + 1 for row in range(start) if self._at(row) == self._old]
        if elsewhere:
            return (
                f"{what} at line {elsewhere[0]}, before its header line or the hunk above it. "
                "Bring the hunks into the order of the file"
            )
        best = max(self._rows(start), key=self._agreeing, default=None)
        if best is not None and (agreeing := self._agreeing(best)):
            there = self._lines[best + agreeing].decode("utf-8", "replace")
            quoted = self._old[agreeing].decode("utf-8", "replace")
            return (
                f"it begins to fit at line {best + 1}, but line {best + agreeing + 1} is "
                f"{there[:200]!r}, and the hunk has {quoted[:200]!r}"
            )
        near = nearest(self._data, longest_line(self._old))
        return "\n".join([f"{what} nowhere in the file{_after(start)}. Nearest lines:", *near])

    def _agreeing(self, row: int) -> int:
        """Count the lines that match, from the hunk's first line."""
        pairs = enumerate(zip(self._at(row), self._old, strict=True))
        return next((n for n, (a, b) in pairs if a.strip() != b.strip()), len(self._old) - 1)

    def _refusal(self, reason: str) -> RefusedError:
        mark = "" if reason.endswith("\n") or "\n" in reason else "."
        return RefusedError(f"{self._name} does not fit: {reason}{mark}\nNothing was changed.")


def _after(first: int) -> str:
    return f" after line {first}" if first else ""
