"""The diff of a changeset, from the store that all workers share."""

import os
import pydoc
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from pydantic import BaseModel

from starter.console.command_errors import CommandError
from starter.console.exit_codes import ExitCode
from starter.console.terminal import console, shown, write
from starter.views import file_diffs, safety_labels, work_words
from starter.views.session_words import style
from workflows.domain.line_comment import LineComment

if TYPE_CHECKING:
    from starter.sessions.session_client import Sessions
    from starter.sessions.shown_session import ShownSession
    from workers.settings import Settings
    from workflows.domain.ids import SessionId
    from workflows.domain.session.query_answers import ChangesetLine

_NAMED: Final = 10
_WIDTH: Final = 160
"""Columns of both sides where there is no terminal."""


def lines(found: Mapping[str, str]) -> list[str]:
    """Return diffs by task as lines that are harmless on a terminal."""
    return [shown(line) for text in found.values() for line in text.removesuffix("\n").split("\n")]


class Remark(BaseModel, frozen=True, extra="forbid"):
    """A comment on a line, and what became of it; one entry of `diff --json`."""

    comment: LineComment
    fate: file_diffs.FateKind
    line: int | None
    """Where the line is now, if it is unchanged."""
    became: str
    """All of it in words."""


def selected(found: Mapping[str, str], task: str | None, file: str | None) -> dict[str, str]:
    """Return the diffs of one task, or of one file; None: of all.

    Raises:
        CommandError: the changeset has no such task or file.
    """
    if task is not None and task not in found:
        raise CommandError(f"the changeset has no diff of task {task!r}; it has {', '.join(found)}")
    chosen = {name: text for name, text in found.items() if task in {None, name}}
    if file is None:
        return chosen
    files = {name: file_diffs.by_file(text) for name, text in chosen.items()}
    parts = {
        name: "".join(each.text for each in own if each.path == file) for name, own in files.items()
    }
    if not any(parts.values()):
        known = ", ".join(sorted({each.path for own in files.values() for each in own})[:_NAMED])
        raise CommandError(f"file {file!r} is not in the diff; it has {known or 'no file'}")
    return {name: text for name, text in parts.items() if text}


def show(
    view: "ShownSession",
    changeset: "ChangesetLine",
    found: Mapping[str, str],
    remarks: Sequence[Remark] = (),
    *,
    side_by_side: bool = False,
) -> None:
    """Write diffs by task: marked for a person, raw as data.

    A file or a pipe gets the raw bytes, and the error stream the marks; a terminal gets harmless
    lines in a pager.
    """
    is_read = sys.stdout.isatty()
    marks = [*safety_labels.of(view), *work_words.verdict_lines(changeset), *_told(remarks)]
    if not is_read:
        write(marks, style, beside=True)
    if side_by_side:
        width = console().width if is_read else _WIDTH
        text = "\n".join(
            line for each in found.values() for line in file_diffs.side_by_side(each, width)
        )
        sides = text.split("\n")
        return _page([*marks, *sides]) if is_read else write(sides)
    if is_read:
        return _page([*marks, *lines(found)])
    sys.stdout.write("".join(found.values()))
    return None


def _page(content: Sequence[str]) -> None:
    # `less` ends by itself where all fits on one screen.
    os.environ.setdefault("LESS", "FRX")
    pydoc.pager("\n".join(content) + "\n")


def _told(remarks: Sequence[Remark]) -> list[str]:
    return ["Comments", *(each.became for each in remarks)] if remarks else []


async def comments_of(
    sessions: "Sessions", session: "SessionId", found: Mapping[str, str]
) -> list[Remark]:
    """Return the comments on the work of tasks, and what became of each in these diffs."""
    records = {name: await sessions.task(session, name) for name in found}
    return [
        _remark(each, file_diffs.fate(each, record.attempt, found[name]))
        for name, record in records.items()
        if record is not None
        for each in record.comments
    ]


def _remark(comment: LineComment, fate: file_diffs.Fate) -> Remark:
    words = file_diffs.became(comment, fate)
    return Remark(comment=comment, fate=fate.kind, line=fate.line, became=words)


async def diffs_of(
    sessions: "Sessions", session: "SessionId", changeset: "ChangesetLine", settings: "Settings"
) -> dict[str, str]:
    """Return the whole diff of a changeset, by task, in the changeset's order.

    Raises:
        CommandError: no worker answers, nothing is validated yet, or this machine does not share
            the workers' store; each with its own code.
    """
    from activities.ports.blob_store_port import BlobMissingError
    from workers.local.stored_diffs import read_diff

    parts: dict[str, str] = {}
    records = {name: await sessions.task(session, name) for name in changeset.tasks}
    if not any(records.values()):
        raise CommandError(
            f"no worker answers for session {session!r}; `up --detach` starts one",
            ExitCode.UNAVAILABLE,
        )
    for name, task in records.items():
        if task is None or task.diff is None:
            continue
        try:
            parts[str(name)] = await read_diff(settings, task.diff)
        except (BlobMissingError, OSError) as error:
            raise CommandError(
                f"the diff of task {name!r} is not in the store {str(settings.store_dir)!r}: run "
                "this where the workers' data directory is, or look at the branch with git",
                ExitCode.UNAVAILABLE,
            ) from error
    if not parts:
        raise CommandError(
            f"changeset {changeset.id!r} has no validated work to show yet", ExitCode.STALE
        )
    return parts
