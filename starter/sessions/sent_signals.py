"""Telling a session something, and hearing at once whether it will have it.

A signal has no answer; but what a session cannot do becomes a notice, and a query that follows a
signal sees what came of it. Where no worker answers, the session judges later, and says so then.
"""

from typing import TYPE_CHECKING, Final

from starter.console.command_errors import CommandError
from starter.console.exit_codes import ExitCode
from starter.sessions.shown_session import ShownSession
from workflows.domain.session.notice import Notice, NoticeKind

if TYPE_CHECKING:
    from starter.sessions.session_client import Sessions

_REFUSALS: Final = {
    NoticeKind.BAD_SIGNAL,
    NoticeKind.NOT_POSSIBLE,
    NoticeKind.STALE_APPROVAL,
    NoticeKind.UNKNOWN_SUBJECT,
}


async def tell(sessions: "Sessions", before: ShownSession, signal: str, content: object) -> None:
    """Send a signal, and say what the session says against it.

    Args:
        sessions: where the session is.
        before: its view, from just before.
        signal: the signal's name.
        content: its one input.

    Raises:
        CommandError: the session has ended, or answered at once with a notice that refuses.
    """
    await sessions.signal(before.session, signal, content)
    if not before.live:
        return
    after = await sessions.view(before.session)
    if (refusal := _new_refusal(before.notices, after.notices)) is not None:
        raise CommandError(f"the session says: {refusal.text}", ExitCode.STALE)


def _new_refusal(before: tuple[Notice, ...], after: tuple[Notice, ...]) -> Notice | None:
    known = {(each.kind, each.subject): each.count for each in before}
    return next(
        (
            each
            for each in reversed(after)
            if each.kind in _REFUSALS and each.count > known.get((each.kind, each.subject), 0)
        ),
        None,
    )
