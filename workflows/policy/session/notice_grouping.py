"""Grouping of notices: repeats of a kind and subject are counted, so a storm is one line."""

from datetime import datetime
from typing import Final

from workflows.domain.session.notice import Notice, NoticeKind

MOST: Final = 100


def add(
    notices: tuple[Notice, ...], kind: NoticeKind, subject: str, text: str, at: datetime
) -> tuple[Notice, ...]:
    """Return the notices with one more; the oldest is dropped beyond 100.

    Args:
        notices: so far, oldest first.
        kind: what it is about.
        subject: a task's or changeset's id, or empty for the session.
        text: one line for a person; cut at 1,000 characters. The newest text of a group is kept.
        at: now, by the workflow's clock.
    """
    text = text[:1_000]
    for place, old in enumerate(notices):
        if (old.kind, old.subject) == (kind, subject):
            again = Notice(
                kind=kind,
                subject=subject,
                text=text,
                first_at=old.first_at,
                last_at=at,
                count=old.count + 1,
            )
            return (*notices[:place], *notices[place + 1 :], again)
    new = Notice(kind=kind, subject=subject, text=text, first_at=at, last_at=at)
    return (*notices, new)[-MOST:]
