"""Sending messages to the places that the person named, unless it is in their quiet hours.

The settings are read for each message: a correction counts at once, and no address is kept.
"""

import logging
from collections.abc import Callable, Mapping
from datetime import datetime

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.ports.land.notification_port import (
    NotificationSettings,
    NotificationSettingsError,
    NotificationTarget,
)
from activities.repository.host_data import no_fail_point
from workflows.contracts.land_contracts import (
    FindTargets,
    NotificationHeld,
    NotificationSent,
    SendNotification,
    TargetsFound,
    TargetsOutcome,
)
from workflows.domain.session.notification import Notification, TargetName
from workflows.errors import FailureType
from workflows.policy.notifications.quiet_hours import quiet_until
from workflows.policy.text.log_events import log_event

_log = logging.getLogger(__name__)

Clock = Callable[[], datetime]
Targets = Mapping[TargetName, NotificationTarget]


class NotificationActivities:
    """Activities `notifications.targets` and `notifications.send`, in role `land`."""

    def __init__(
        self,
        read: Callable[[], NotificationSettings],
        targets: Callable[[NotificationSettings, Clock], Targets],
        clock: Clock,
        fail_point: Callable[[str], None] = no_fail_point,
    ) -> None:
        """Use these functions.

        Args:
            read: returns the person's settings, or raises `NotificationSettingsError`.
            targets: returns an adapter for each target.
            clock: returns now, in the person's time zone.
            fail_point: called with `after-notify`.
        """
        self._read = read
        self._targets = targets
        self._clock = clock
        self._fail_point = fail_point

    @activity.defn(name="notifications.targets")
    async def find(self, request: FindTargets) -> TargetsOutcome:
        """Name the targets of a message, or say until when it must wait."""
        settings = self._settings()
        if (until := quiet_until(self._clock(), settings.quiet)) is not None:
            log_event(_log, "message_waits", message=request.title, until=until)
            return NotificationHeld(until=until)
        return TargetsFound(targets=tuple(self._targets(settings, self._clock)))

    @activity.defn(name="notifications.send")
    async def send(self, request: SendNotification) -> NotificationSent:
        """Send a message to one target, once."""
        target = self._targets(self._settings(), self._clock).get(request.target)
        if target is None:
            return NotificationSent()  # the person removed it since: they want nothing there
        fault = await tried(target, request.notification)
        self._fail_point("after-notify")
        if fault:
            sent, target_name = request.notification.id, request.target
            log_event(_log, "message_lost", message=sent, target=target_name, reason=fault)
        return NotificationSent(fault=fault)

    def _settings(self) -> NotificationSettings:
        try:
            return self._read()
        except NotificationSettingsError as error:
            kind = FailureType.SETTINGS_INVALID
            raise ApplicationError(str(error)[:1_000], type=kind, non_retryable=True) from error


async def tried(target: NotificationTarget, notification: Notification) -> str:
    """Send a message once; return why it did not arrive, or an empty text."""
    try:
        return (await target.send(notification))[:300]
    except Exception as error:  # noqa: BLE001  (a service's plugin may raise anything)
        return f"internal error in the target ({type(error).__name__})"
