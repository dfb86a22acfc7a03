"""A git diff by file: its lines with their numbers, side by side, and what became of a comment.

Pure. The diffs are git's own, with three lines of context; text is returned as it came, so the
caller makes it harmless.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Final, Literal, NamedTuple

from starter.console.terminal import one_line, shown
from workflows.domain.line_comment import QUOTED, LineComment

_HUNK: Final = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_ESCAPE: Final = re.compile(r"\\([0-7]{3}|.)")
_NAMED: Final = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}
_GUTTER: Final = 5
FateKind = Literal["no_later_attempt", "changed", "unchanged", "file_gone"]


class FileDiff(NamedTuple):
    """The part of a diff that is about one file."""

    path: str
    """In the new tree; of a deleted file, in the old one."""
    text: str
    lines: Mapping[int, str]
    """The shown lines of the new file, by number."""


def by_file(diff: str) -> list[FileDiff]:
    """Return a diff's files, in its order."""
    parts = re.split(r"^(?=diff --git )", diff, flags=re.MULTILINE)
    return [_file(part) for part in parts if part.startswith("diff --git ")]


def _file(text: str) -> FileDiff:
    lines: dict[int, str] = {}
    number = 0
    for line in text.split("\n"):
        if hunk := _HUNK.match(line):
            number = int(hunk[2])
        elif number and line[:1] in {" ", "+"}:
            lines[number] = line[1:]
            number += 1
    return FileDiff(_path(text), text, lines)


def _path(text: str) -> str:
    head = text.partition("\n@@ ")[0].split("\n")
    named = [line[4:] for line in head if line.startswith(("+++ ", "--- "))]
    for name in reversed(named):
        plain = _unquoted(name.rstrip("\t"))
        if plain != "/dev/null":
            return plain.partition("/")[2]
    # No content changed: `diff --git a/P b/P`, or a rename, which says so.
    renamed = [line.removeprefix("rename to ") for line in head if line.startswith("rename to ")]
    if renamed:
        return _unquoted(renamed[0])
    both = head[0].removeprefix("diff --git ")
    return _unquoted(both[len(both) // 2 + 1 :]).partition("/")[2]


def _unquoted(name: str) -> str:
    if not (name.startswith('"') and name.endswith('"')):
        return name

    def plain(found: re.Match[str]) -> str:
        code = found[1]
        return chr(int(code, 8)) if code.isdigit() else _NAMED.get(code, code)

    # git writes each byte of a name in UTF-8 as one octal number.
    return _ESCAPE.sub(plain, name[1:-1]).encode("latin-1", "replace").decode("utf-8", "replace")


# --- side by side -------------------------------------------------------------------------------


def side_by_side(diff: str, width: int) -> list[str]:
    """Return a diff with the old lines left and the new ones right.

    Args:
        diff: of any number of files.
        width: columns for both sides.

    Returns:
        Lines that are harmless on a terminal; longer ones are cut.
    """
    half = max((width - 3) // 2, _GUTTER + 2)
    rows: list[str] = []
    for file in by_file(diff):
        rows += ["", shown(file.path), "-" * min(len(file.path), width)]
        for old, new in _pairs(file.text):
            rows.append(f"{_cell(old, half):<{half}} | {_cell(new, half)}".rstrip())
    return rows[1:]


_Numbered = tuple[int, str]


def _pairs(text: str) -> Iterator[tuple[_Numbered | None, _Numbered | None]]:
    old = new = 0
    gone: list[_Numbered] = []
    come: list[_Numbered] = []
    for line in [*text.split("\n"), "@"]:
        hunk = _HUNK.match(line)
        if old and line[:1] == "-":
            gone.append((old, line[1:]))
            old += 1
            continue
        if old and line[:1] == "+":
            come.append((new, line[1:]))
            new += 1
            continue
        yield from zip_longest(gone, come)
        gone, come = [], []
        if hunk:
            old, new = max(int(hunk[1]), 1), max(int(hunk[2]), 1)
        elif old and line[:1] == " ":
            yield (old, line[1:]), (new, line[1:])
            old, new = old + 1, new + 1


def _cell(side: _Numbered | None, width: int) -> str:
    if side is None:
        return ""
    number, text = side
    cell = f"{number:>{_GUTTER - 1}} {shown(text.expandtabs(4))}"
    return cell if len(cell) <= width else f"{cell[: width - 3]}..."


# --- comments -----------------------------------------------------------------------------------


def ranges(numbers: Sequence[int]) -> str:
    """Return line numbers as ranges, as in `1-7, 20-31`."""
    found: list[list[int]] = []
    for number in sorted(numbers):
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ", ".join(f"{a}-{b}" if a != b else f"{a}" for a, b in found)


class Fate(NamedTuple):
    """What became of a commented line."""

    kind: FateKind
    line: int | None = None
    """Its number now, if it is unchanged."""

    def words(self) -> str:
        """Return it in words."""
        match self.kind:
            case "no_later_attempt":
                return "no later attempt yet"
            case "file_gone":
                return "the file is not in the diff any more"
            case "changed":
                return "the line was changed or removed"
            case "unchanged":
                return f"the line is as it was, at {self.line}"


def fate(comment: LineComment, attempt: int, diff: str) -> Fate:
    """Return what became of the line that a comment is on.

    Args:
        comment: it.
        attempt: of the work that the diff shows.
        diff: the task's.

    | the work         | the line that was commented on   | result           |
    |------------------|----------------------------------|------------------|
    | the same attempt |                                  | no_later_attempt |
    | a later one      | its file is not in the diff      | file_gone        |
    | a later one      | is in the diff                   | unchanged        |
    | a later one      | is not                           | changed          |
    """
    if attempt <= comment.attempt:
        return Fate("no_later_attempt")
    file = next((each for each in by_file(diff) if each.path == comment.path), None)
    if file is None:
        return Fate("file_gone")
    same = [n for n, line in file.lines.items() if line[:QUOTED] == comment.quote]
    if not comment.quote or not same:
        return Fate("changed")
    return Fate("unchanged", min(same, key=lambda number: abs(number - comment.line)))


def became(comment: LineComment, fate: Fate) -> str:
    """Return a comment and what became of it, as one line."""
    place = f"  {shown(comment.path)}:{comment.line} (attempt {comment.attempt})"
    return f"{place}  {one_line(comment.text, 200)} -> {fate.words()}"
