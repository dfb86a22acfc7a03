"""The diff of a changeset, from the store that all workers share."""

from typing import TYPE_CHECKING

from starter.errors import CommandError
from starter.exit_codes import ExitCode

if TYPE_CHECKING:
    from starter.sessions import Sessions
    from workflows.domain.ids import SessionId
    from workflows.domain.session import ChangesetLine


async def diff_text(sessions: "Sessions", session: "SessionId", changeset: "ChangesetLine") -> str:
    """Return the whole diff of a changeset, task by task.

    Raises:
        CommandError: the session does not tell where a task's diff is kept.
    """
    for task in changeset.tasks:
        await sessions.task(session, task)
    raise CommandError(
        f"the diff of changeset {changeset.id!r} is not kept yet; look at its commits with git",
        ExitCode.UNAVAILABLE,
    )
