"""The live view of a session, fitted to the terminal: all of it, or what matters first.

Pure. If there are too few rows, finished tasks make room for others, and a line says how many are
not shown. Labels that must not be overlooked (no sandbox, a scripted model) always stay.
"""

from typing import Final

from starter.sessions.shown_session import ShownSession
from starter.views import session_words, work_words
from workflows.domain.task import TaskState

_SETTLED: Final = {TaskState.MERGED, TaskState.SKIPPED, TaskState.CANCELLED}
_LESS: Final = ("Repository ", "Branch ", "Pacing ", "Session ")
"""Facts that are left out first."""
_FEW: Final = 3


def picture(session: ShownSession, program: str, width: int, height: int) -> list[str]:
    """Return at most `height` lines of at most `width` characters.

    Args:
        session: the session to show.
        program: the program as the person types it.
        width: columns of the terminal.
        height: rows of the terminal; below 8 the end is cut.
    """
    whole = session_words.status(session, program)
    lines = whole if len(whole) <= height else _shortened(session, program, height)
    return [
        (line if len(line) <= width else f"{line[: max(width - 3, 0)]}...")
        for line in lines[:height]
    ]


def _shortened(session: ShownSession, program: str, height: int) -> list[str]:
    head = [line for line in session_words.header(session) if not line.startswith(_LESS)]
    asks = session_words.asks(session, program)
    notices = [session_words.notice_line(each) for each in session.notices[-_FEW:]]
    unsettled = [each for each in session.changesets if each.state not in {"merged", "dropped"}]
    changesets = _limited(work_words.changeset_lines(unsettled), _FEW)
    pulls = _limited(work_words.pull_lines(session.pulls)[::-1], _FEW)
    rest = [line for part in (changesets, pulls, notices, asks) for line in part]
    room = max(height - len(head) - 1 - len(rest), 1)
    tasks = _limited(
        work_words.task_lines(sorted(session.tasks, key=lambda task: task.state in _SETTLED)), room
    )
    return [*head, session_words.counts(session.tasks), *tasks, *rest]


def _limited(lines: list[str], room: int) -> list[str]:
    if len(lines) <= room:
        return lines
    kept = lines[: max(room - 1, 0)]
    return [*kept, f"  ... {len(lines) - len(kept)} more"]
