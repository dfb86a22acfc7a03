"""Comments on lines of a changeset as a person types them: `FILE:LINE:TEXT`.

Each is checked against the diff that the person sees, so that none is lost on its way to the agent.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from starter.console.command_errors import CommandError
from starter.views.file_diffs import FileDiff, by_file, ranges
from workflows.domain.line_comment import MOST_COMMENTS, QUOTED, LineComment

_TYPED: Final = re.compile(r"(?P<path>.+?):(?P<line>[0-9]+):(?P<text>.*)", re.DOTALL)
_MOST_BYTES: Final = 1_000_000
_TEXT: Final = 2_000
_NAMED: Final = 10


class TypedComment(NamedTuple):
    """One comment, not checked against any diff."""

    path: str
    line: int
    text: str


def read_comments(typed: Iterable[str], file: Path | None) -> list[TypedComment]:
    """Return the comments of the options `--comment` and `--comments`.

    Args:
        typed: each as `FILE:LINE:TEXT`.
        file: one such comment per line; empty lines and those that begin with `#` are skipped.

    Raises:
        CommandError: one is not of that form, there are too many, or the file cannot be read.
    """
    found = [_parsed(each, "--comment") for each in typed]
    if file is not None:
        lines = [line.strip() for line in _text_of(file).splitlines()]
        for number, line in enumerate(lines, 1):
            if line and not line.startswith("#"):
                found.append(_parsed(line, f"{str(file)!r}, line {number}"))
    if len(found) > MOST_COMMENTS:
        raise CommandError(f"there are {len(found)} comments; send at most {MOST_COMMENTS}")
    return found


def _text_of(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            content = stream.read(_MOST_BYTES + 1)
        if len(content) <= _MOST_BYTES:
            return content.decode()
    except UnicodeDecodeError:
        pass
    raise CommandError(f"{str(file)!r} is not a text file of at most {_MOST_BYTES} bytes")


def _parsed(text: str, where: str) -> TypedComment:
    match = _TYPED.fullmatch(text)
    if match is None or not match["text"].strip() or int(match["line"]) < 1:
        raise CommandError(f"{where}: {text!r} is not a comment; write FILE:LINE:TEXT")
    said = match["text"].strip()
    if len(said) > _TEXT:
        raise CommandError(f"{where}: shorten the comment to {_TEXT} characters")
    return TypedComment(match["path"].removeprefix("./"), int(match["line"]), said)


def placed(comments: Iterable[TypedComment], diffs: Mapping[str, str]) -> tuple[LineComment, ...]:
    """Return comments with the task and the line that each is about.

    Args:
        comments: as typed.
        diffs: the changeset's, by task; a line in several of them belongs to the last one.

    Raises:
        CommandError: a file is not in the changeset, or a line is not in its diff.
    """
    files = {task: {each.path: each for each in by_file(text)} for task, text in diffs.items()}
    return tuple(_placed(each, files) for each in comments)


def _placed(comment: TypedComment, files: Mapping[str, Mapping[str, FileDiff]]) -> LineComment:
    having = {task: own[comment.path] for task, own in files.items() if comment.path in own}
    if not having:
        known = sorted({path for own in files.values() for path in own})
        more = f" and {len(known) - _NAMED} more" if len(known) > _NAMED else ""
        raise CommandError(
            f"file {comment.path!r} is not in the changeset; it changes "
            f"{', '.join(known[:_NAMED])}{more}"
        )
    for task, file in reversed(having.items()):
        if comment.line in file.lines:
            quote = file.lines[comment.line][:QUOTED]
            return LineComment(task=task, quote=quote, **comment._asdict())
    lines = ranges([*{number for file in having.values() for number in file.lines}])
    shows = f"it shows lines {lines}" if lines else "it shows no line of the new file"
    raise CommandError(
        f"line {comment.line} of {comment.path!r} is not in the changeset's diff; {shows}"
    )
