"""A changeset's diff as rows, and the comments that a person puts on its lines before deciding.

Pure. A comment is on a line of the new file; other lines of a diff cannot be commented.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from starter.console.terminal import one_line, shown
from starter.live.rows import Row
from starter.views.file_diffs import by_file
from workflows.domain.line_comment import QUOTED, LineComment

_HUNK: Final = re.compile(r"@@ -\d+(?:,\d+)? \+(\d+)")
_LINE: Final = re.compile(r"line (?P<task>[^ ]*) (?P<line>\d+) (?P<path>.*)", re.DOTALL)
_STYLES: Final = {"+": "green", "-": "red", "@": "cyan"}
_WIDTH: Final = 2_000


def diff_rows(diffs: Mapping[str, str], comments: Sequence[LineComment] = ()) -> tuple[Row, ...]:
    """Return diffs as rows, each comment below its line.

    Args:
        diffs: the changeset's, by task.
        comments: those that wait for the decision.
    """
    rows: list[Row] = []
    for task, text in diffs.items():
        for file in by_file(text):
            rows += _file_rows(task, file.path, file.text.removesuffix("\n").split("\n"), comments)
    return tuple(rows)


def _file_rows(
    task: str, path: str, lines: Sequence[str], comments: Sequence[LineComment]
) -> list[Row]:
    rows: list[Row] = []
    number = 0
    for line in lines:
        hunk = _HUNK.match(line)
        style = _STYLES.get(line[:1], "") if number or hunk else "bold"
        key = ""
        if hunk:
            number = max(int(hunk[1]), 1)
        elif number and line[:1] in {" ", "+"}:
            key = f"line {task} {number} {path}"
            number += 1
        rows.append(Row(key, shown(line), style))
        rows += [
            Row("", f"    # {one_line(each.text, _WIDTH)}", "bold yellow")
            for each in comments
            if key and key == f"line {each.task} {each.line} {each.path}"
        ]
    return rows


def comment_on(key: str, diffs: Mapping[str, str], text: str) -> LineComment | None:
    """Return a comment on the line that a row shows; None if that row is no line of a new file.

    Args:
        key: the row's.
        diffs: the changeset's, by task.
        text: the comment; longer ones are cut.
    """
    if (found := _LINE.fullmatch(key)) is None:
        return None
    task, number, path = found["task"], int(found["line"]), found["path"]
    (file,) = (each for each in by_file(diffs[task]) if each.path == path)
    quote = file.lines[number][:QUOTED]
    return LineComment(task=task, path=path, line=number, text=text.strip()[:_WIDTH], quote=quote)
