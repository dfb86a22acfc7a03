"""Finds merged lines that a task's work removes again.

What others merged since the task's first base must survive a later attempt, for example one that
rewrites a whole file from its old version. Compares lines, not meanings.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from workflows.domain.violation import DiffRule, Violation
from workflows.policy.review.diff_rules import AddedLines
from workflows.policy.text.secret_patterns import first_of_each

_WORD: Final = re.compile(rb"\w+")
_QUOTED: Final = 120


def lost_lines(
    merged: Sequence[AddedLines],
    removed: Sequence[AddedLines],
    added: Sequence[AddedLines],
    task_text: str,
) -> tuple[Violation, ...]:
    """Judge the lines that the work removes.

    | a removed line                                    | finding |
    |---------------------------------------------------|---------|
    | was there at the task's first base                | no      |
    | holds no word                                     | no      |
    | is quoted in the task                             | no      |
    | is elsewhere in the work, whatever its indent     | no      |
    | has all its words in one new line                 | no      |
    | any other                                         | yes     |

    Args:
        merged: lines of the base that the task's first base lacks.
        removed: lines of the base that the work lacks.
        added: lines of the work that the base lacks.
        task_text: the task's title, description and acceptance criteria.
    """
    new = {(path, number) for path, number, _ in _lines(merged)}
    kept = {line.strip() for _, _, line in _lines(added)}
    words = [set(_WORD.findall(line)) for line in kept]
    return tuple(
        _violation(path, number, line)
        for path, number, line in _lines(removed)
        if (path, number) in new
        and (own := set(_WORD.findall(line)))
        and line.strip() not in kept
        and _text(line) not in task_text
        and not any(own <= other for other in words)
    )


def _lines(parts: Sequence[AddedLines]) -> Iterator[tuple[str, int, bytes]]:
    for part in parts:
        for offset, line in enumerate(part.text.split(b"\n")):
            yield part.path, part.start + offset, line


def _violation(path: str, number: int, line: bytes) -> Violation:
    is_secret = any(first_of_each(line))
    quoted = "a line that looks like a key" if is_secret else repr(_text(line)[:_QUOTED])
    text = (
        f"line {number} of the merged file is gone: {quoted}. It was merged after this task began: "
        "put it back. Only a task that quotes the line may remove it"
    )
    return Violation(rule=DiffRule.LOST_LINE, path=path, text=text)


def _text(line: bytes) -> str:
    return line.strip().decode("utf-8", "replace")
