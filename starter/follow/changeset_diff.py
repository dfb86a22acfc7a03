"""The diff of a changeset, from the store that all workers share."""

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from starter.console.command_errors import CommandError
from starter.console.exit_codes import ExitCode
from starter.console.terminal import shown, write
from starter.views import safety_labels, work_words
from starter.views.session_words import style

if TYPE_CHECKING:
    from starter.sessions.session_client import Sessions
    from starter.sessions.shown_session import ShownSession
    from workers.settings import Settings
    from workflows.domain.ids import SessionId
    from workflows.domain.session.session_values import ChangesetLine


def lines(found: Mapping[str, str]) -> list[str]:
    """Return diffs by task as lines that are harmless on a terminal."""
    return [shown(line) for text in found.values() for line in text.removesuffix("\n").split("\n")]


def show(view: "ShownSession", changeset: "ChangesetLine", found: Mapping[str, str]) -> None:
    """Write diffs by task: marked for a person, raw as data.

    A file or a pipe gets the raw bytes, and the error stream the marks; on a terminal the lines are
    made harmless.
    """
    text, is_read = "".join(found.values()), sys.stdout.isatty()
    verdicts = work_words.verdict_lines(changeset)
    write([*safety_labels.of(view), *verdicts], style, beside=not is_read)
    sys.stdout.write(shown(text) if is_read else text)


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
