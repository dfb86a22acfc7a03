"""Parses a patch in the envelope that some models are trained on. Pure; accesses no file.

The form (`*** Begin Patch` … `*** End Patch`) is that of OpenAI's `apply_patch`. The text between
the markers is kept as written; whether its hunks fit is decided where the files are.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NoReturn

from pydantic import JsonValue

_BEGIN, _END = "*** Begin Patch", "*** End Patch"
_END_OF_FILE = "*** End of File"
_MOVE = "*** Move to:"
_HEADER = re.compile(r"\*\*\* (Add|Delete|Update) File:(.*)")
_RANGES = re.compile(r"@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@")
"""A unified diff's header, whose line numbers are ignored."""
_WRAPPER = re.compile(r"(?:apply_?patch +)?<<|```")


class PatchError(ValueError):
    """The text is not a patch; the message says where, and what is expected there."""


@dataclass(frozen=True)
class Hunk:
    """One place to change."""

    anchors: tuple[str, ...]
    """Whole lines, in the file's order, that must precede it."""
    lines: tuple[tuple[str, str], ...]
    """Sign (space, `+` or `-`) and text."""
    at_end: bool = False
    """It ends at the file's end."""


@dataclass(frozen=True)
class FileChange:
    """What the patch does to one file."""

    kind: Literal["add", "delete", "update"]
    path: str
    move_to: str | None = None
    content: str = ""
    """The content of an added file."""
    hunks: tuple[Hunk, ...] = ()

    def paths(self) -> tuple[str, ...]:
        """Return every path that it writes."""
        return (self.path,) if self.move_to is None else (self.path, self.move_to)

    def request(self) -> dict[str, JsonValue]:
        """Return the form that `inside.file_patch` expects."""
        hunks: list[JsonValue] = [
            {
                "anchors": list(hunk.anchors),
                "lines": [list(line) for line in hunk.lines],
                "at_end": hunk.at_end,
            }
            for hunk in self.hunks
        ]
        return {
            "kind": self.kind,
            "path": self.path,
            "move_to": self.move_to,
            "content": self.content,
            "hunks": hunks,
        }


def parse_patch(text: str) -> tuple[FileChange, ...]:
    """Parse a patch.

    Args:
        text: the whole envelope; a here-document or a code fence around it is removed.

    Raises:
        PatchError: the text is not a patch, or is cut.
    """
    return _Reader(_unwrapped(text)).changes()


def _unwrapped(text: str) -> list[str]:
    lines = text.strip().split("\n")
    if len(lines) > 1 and _WRAPPER.match(lines[0]):
        lines = lines[1:-1]
    return lines


@dataclass
class _Reader:
    """Reads the lines once, in order."""

    lines: Sequence[str]
    at: int = field(default=0)

    def changes(self) -> tuple[FileChange, ...]:
        if self._marker() != _BEGIN:
            self._fail(f"a patch begins with the line '{_BEGIN}'")
        self.at += 1
        changes: list[FileChange] = []
        while self._marker() != _END:
            changes.append(self._change())
        if self.at != len(self.lines) - 1:
            self._fail(f"nothing may follow '{_END}'")
        if not changes:
            self._fail("the patch is empty")
        return tuple(changes)

    def _marker(self) -> str | None:
        """Return the line as a marker; None at the end."""
        return self.lines[self.at].rstrip() if self.at < len(self.lines) else None

    def _change(self) -> FileChange:
        header = _HEADER.fullmatch(self._marker() or "")
        path = header[2].strip() if header else ""
        if header is None or not path:
            self._fail(
                f"expected '*** Update File: PATH', '*** Add File: PATH', '*** Delete File: PATH' "
                f"or '{_END}'"
            )
        self.at += 1
        match header[1]:
            case "Add":
                return FileChange("add", path, content=self._content(path))
            case "Delete":
                return FileChange("delete", path)
            case _:
                return self._update(path)

    def _content(self, path: str) -> str:
        lines: list[str] = []
        while (marker := self._marker()) is not None and not marker.startswith("*** "):
            line = self.lines[self.at]
            if not line.startswith("+"):
                self._fail(f"each line of the new file {path!r} begins with '+'")
            lines.append(line[1:] + "\n")
            self.at += 1
        return "".join(lines)

    def _update(self, path: str) -> FileChange:
        move_to = None
        if (marker := self._marker()) is not None and marker.startswith(_MOVE):
            move_to = marker.removeprefix(_MOVE).strip()
            if not move_to:
                self._fail(f"'{_MOVE}' names no path")
            self.at += 1
        hunks: list[Hunk] = []
        while not self._is_over():
            hunks.append(self._hunk(path, is_first=not hunks))
        if not hunks and move_to is None:
            self._fail(f"the update of {path!r} has no hunk")
        return FileChange("update", path, move_to, hunks=tuple(hunks))

    def _is_over(self) -> bool:
        """Say whether a file's part of the patch has ended."""
        marker = self._marker()
        return marker is None or (marker.startswith("*** ") and marker != _END_OF_FILE)

    def _hunk(self, path: str, *, is_first: bool) -> Hunk:
        anchors, has_header = self._anchors()
        if not has_header and not is_first:
            self._fail("the next hunk begins with a line '@@', or '@@ LINE' with a line before it")
        lines: list[tuple[str, str]] = []
        while not self._is_over() and not self.lines[self.at].startswith("@@"):
            if self._marker() == _END_OF_FILE:
                self.at += 1
                return self._checked(Hunk(anchors, tuple(lines), at_end=True), path)
            lines.append(self._line())
        while lines and lines[-1] == (" ", ""):
            # Before the next marker it usually separates the two; as context it does no harm.
            lines.pop()
        return self._checked(Hunk(anchors, tuple(lines)), path)

    def _anchors(self) -> tuple[tuple[str, ...], bool]:
        anchors: list[str] = []
        has_header = False
        while not self._is_over() and self.lines[self.at].startswith("@@"):
            has_header = True
            header = _RANGES.sub("@@", self.lines[self.at]).removeprefix("@@").removeprefix(" ")
            anchors += [header.rstrip()] if header.strip() else []
            self.at += 1
        return tuple(anchors), has_header

    def _line(self) -> tuple[str, str]:
        line = self.lines[self.at].removesuffix("\r")
        if line and line[0] not in " +-":
            self._fail("a line of a hunk begins with a space (context), '-' or '+'")
        self.at += 1
        return (line[0], line[1:]) if line else (" ", "")

    def _checked(self, hunk: Hunk, path: str) -> Hunk:
        if all(sign == " " for sign, _ in hunk.lines):
            self._fail(f"the hunk above, of {path!r}, neither adds nor removes a line")
        return hunk

    def _fail(self, reason: str) -> NoReturn:
        if self.at >= len(self.lines):
            raise PatchError(f"the patch ends too early; is it cut? It has no line '{_END}'.")
        line = self.lines[self.at]
        raise PatchError(f"line {self.at + 1} of the patch, {line[:200]!r}: {reason}.")
