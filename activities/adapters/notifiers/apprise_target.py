"""One address of Apprise, which knows over a hundred services.

Apprise blocks, so it runs in a thread. What it writes to its log names a service, never a password.
"""

import asyncio
from typing import TYPE_CHECKING, Final

from pydantic import SecretStr

from workflows.domain.session.notification import Notification, NotificationKind
from workflows.policy.notifications.message_grouping import as_text

if TYPE_CHECKING:
    from apprise import Apprise

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

    def __init__(self, address: SecretStr, patience_seconds: float = _PATIENCE_SECONDS) -> None:
        """Use the address in Apprise's own notation.

        Args:
            address: may contain a password.
            patience_seconds: how long the service may take to accept a message.
        """
        self._address = address
        self._patience_seconds = patience_seconds

    async def send(self, notification: Notification) -> str:
        """Send a message as plain text, once."""
        # Before the time limit: on a busy machine this alone can take longer, and a message that is
        # sent after it would be called lost, and sent again.
        service = await asyncio.to_thread(self._service)
        if service is None:
            return "Apprise cannot read its address; compare it with the service's page in Apprise"
        try:
            sending = asyncio.to_thread(_notify, service, notification)
            has_arrived = await asyncio.wait_for(sending, self._patience_seconds)
        except TimeoutError:
            return f"no answer within {self._patience_seconds:g} s"
        return "" if has_arrived else "the service did not accept it; the worker's log says more"

    def _service(self) -> "Apprise | None":
        # Loading Apprise takes a second; only a worker that sends a message does it.
        from apprise import Apprise, AppriseAsset, PersistentStoreMode

        asset = AppriseAsset(
            app_id="Blue Flame", async_mode=False, storage_mode=PersistentStoreMode.MEMORY
        )
        service = Apprise(asset=asset)
        return service if service.add(self._address.get_secret_value()) else None


def _notify(service: "Apprise", notification: Notification) -> bool:
    from apprise import NotifyFormat, NotifyType

    has_arrived = service.notify(
        title=notification.title,
        body=as_text(notification),
        notify_type=NotifyType(_type(notification)),
        body_format=NotifyFormat.TEXT,
    )
    return bool(has_arrived)


def _type(notification: Notification) -> str:
    kind = notification.kind
    return "info" if kind == "test" else _TYPES.get(kind, "info")
