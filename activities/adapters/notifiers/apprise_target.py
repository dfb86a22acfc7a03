"""One address of Apprise, which knows over a hundred services.

Apprise blocks, so it runs in a thread. What it writes to its log names a service, never a password.
"""

import asyncio
from typing import Final

from pydantic import SecretStr

from workflows.domain.session.notification import Notification, NotificationKind
from workflows.policy.notifications.message_grouping import as_text

_PATIENCE_SECONDS: Final = 30
_TYPES: Final = {
    NotificationKind.PAUSED: "warning",
    NotificationKind.SCHEDULE: "warning",
    NotificationKind.FAILED: "failure",
    NotificationKind.DONE: "success",
}
"""What services show as a colour or a picture; `info` for others."""


class AppriseTarget:
    """One service."""

    def __init__(self, address: SecretStr) -> None:
        """Use the address in Apprise's own notation."""
        self._address = address

    async def send(self, notification: Notification) -> str:
        """Send a message as plain text, once."""
        try:
            sending = asyncio.to_thread(self._send, notification)
            return await asyncio.wait_for(sending, _PATIENCE_SECONDS)
        except TimeoutError:
            return f"no answer within {_PATIENCE_SECONDS} s"

    def _send(self, notification: Notification) -> str:
        # Loading Apprise takes a second; only a worker that sends a message does it.
        from apprise import Apprise, AppriseAsset, NotifyFormat, NotifyType, PersistentStoreMode

        asset = AppriseAsset(
            app_id="Blue Flame", async_mode=False, storage_mode=PersistentStoreMode.MEMORY
        )
        service = Apprise(asset=asset)
        if not service.add(self._address.get_secret_value()):
            return "Apprise cannot read its address; compare it with the service's page in Apprise"
        has_arrived = service.notify(
            title=notification.title,
            body=as_text(notification),
            notify_type=NotifyType(_type(notification)),
            body_format=NotifyFormat.TEXT,
        )
        return "" if has_arrived else "the service did not accept it; the worker's log says more"


def _type(notification: Notification) -> str:
    kind = notification.kind
    return "info" if kind == "test" else _TYPES.get(kind, "info")
