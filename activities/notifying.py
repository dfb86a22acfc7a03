"""Sending a message to every place that the person named, unless it is in their quiet hours.

The settings are read for each message: a correction counts at once, and no address is kept.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from datetime import datetime

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.ports.notification_port import (
    NotificationSettings,
    NotificationSettingsError,
    NotificationTarget,
)
from workflows.contracts.land_contracts import (
    NotificationHeld,
    NotificationOutcome,
    NotificationSent,
    SendNotification,
    TargetFault,
)
from workflows.domain.session.notification import Notification, TargetName
from workflows.errors import FailureType
from workflows.policy.notifications.quiet_hours import quiet_until

_log = logging.getLogger(__name__)

Clock = Callable[[], datetime]
Targets = Mapping[TargetName, NotificationTarget]


class NotificationActivities:
    """Activity `notifications.send`, in role `land`."""

    def __init__(
        self,
        read: Callable[[], NotificationSettings],
        targets: Callable[[NotificationSettings, Clock], Targets],
        clock: Clock,
    ) -> None:
        """Use these functions.

        Args:
            read: returns the person's settings, or raises `NotificationSettingsError`.
            targets: returns an adapter for each target.
            clock: returns now, in the person's time zone.
        """
        self._read = read
        self._targets = targets
        self._clock = clock

    @activity.defn(name="notifications.send")
    async def send(self, request: SendNotification) -> NotificationOutcome:
        """Send a message to each target once, or say until when it must wait."""
        try:
            settings = self._read()
        except NotificationSettingsError as error:
            kind = FailureType.SETTINGS_INVALID
            raise ApplicationError(str(error)[:1_000], type=kind, non_retryable=True) from error
        if (until := quiet_until(self._clock(), settings.quiet)) is not None:
            return NotificationHeld(until=until)
        return await self.send_now(settings, request)

    async def send_now(
        self, settings: NotificationSettings, request: SendNotification
    ) -> NotificationSent:
        """Send a message to each target once, also in quiet hours."""
        wanted = {
            name: target
            for name, target in self._targets(settings, self._clock).items()
            if request.targets is None or name in request.targets
        }
        reasons = await asyncio.gather(
            *(_tried(target, request.notification) for target in wanted.values())
        )
        faults = tuple(
            TargetFault(target=name, reason=reason[:300])
            for name, reason in zip(wanted, reasons, strict=True)
            if reason
        )
        for fault in faults:
            _log.warning(
                "%s did not reach %r: %s", request.notification.id, fault.target, fault.reason
            )
        return NotificationSent(faults=faults)


async def _tried(target: NotificationTarget, notification: Notification) -> str:
    """One target's failure must not keep the message from the others."""
    try:
        return await target.send(notification)
    except Exception as error:  # noqa: BLE001  (a service's plugin may raise anything)
        return f"internal error in the target ({type(error).__name__})"
