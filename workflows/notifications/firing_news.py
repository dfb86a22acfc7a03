"""Tells a person that a schedule fired in vain: one message, by a notifier of its own.

The notifier outlives the firing; a target that does not answer delays no schedule.
"""

from temporalio import workflow

from workflows.domain.ids import SessionId
from workflows.domain.session.notification import (
    Need,
    Needs,
    NotificationKind,
    NotifierRequest,
)
from workflows.notifications.notifier import SessionNotifier
from workflows.policy.notifications.harmless_text import harmless

_TEXT = 300


async def tell_of_firing(session: SessionId | None, reason: str) -> None:
    """Tell why the schedule that started this workflow fired in vain.

    Args:
        session: the one that is open; None: none is, a person has to correct something.
        reason: in words.
    """
    firing = workflow.info().workflow_id
    command = "blueflame schedule list" if session is None else f"blueflame status {session}"
    need = Need(
        kind=NotificationKind.SCHEDULE,
        key="firing",
        text=harmless(reason)[:_TEXT],
        command=command,
    )
    notifier = await workflow.start_child_workflow(
        SessionNotifier.run,
        NotifierRequest(
            session=session or SessionId(""),
            goal="a schedule fired",
            name=firing.removeprefix("schedule/")[:120],
        ),
        id=f"{firing}/notifier",
        static_summary="a message to the person",
        parent_close_policy=workflow.ParentClosePolicy.ABANDON,
    )
    await notifier.signal(SessionNotifier.needs_changed, Needs(needs=(need,), is_last=True))
