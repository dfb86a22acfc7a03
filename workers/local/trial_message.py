"""One test message to each target of the person's own configuration, sent from this process."""

import asyncio

from pydantic import BaseModel

from activities.adapters.notifiers.targets import targets_of
from activities.land.notifying import tried
from activities.ports.land.notification_port import NotificationSettings
from workers.own_file import local_now
from workflows.domain.session.notification import Item, Notification

_TEST = "messages about your sessions will arrive here"


class TriedTarget(BaseModel, frozen=True, extra="forbid"):
    """What became of the message to one target."""

    target: str
    fault: str
    """Why it did not arrive; empty if it did."""


async def send_test(settings: NotificationSettings) -> tuple[TriedTarget, ...]:
    """Send a message to each target once, also in quiet hours; no target is tried again."""
    now = local_now()
    message = Notification(
        id=f"test/{now.timestamp():.0f}",
        kind="test",
        session="",
        goal="this is a test",
        title="Blue Flame: a test",
        items=(Item(text=_TEST, command="blueflame notify"),),
        at=now,
    )
    targets = targets_of(settings, local_now)
    faults = await asyncio.gather(*(tried(each, message) for each in targets.values()))
    return tuple(
        TriedTarget(target=name, fault=fault) for name, fault in zip(targets, faults, strict=True)
    )
