"""The activities of notifications: which targets there are, and what was sent to each."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from workflows.contracts.land_contracts import (
    FindTargets,
    NotificationSent,
    SendNotification,
    TargetsFound,
    TargetsOutcome,
)


@dataclass
class FakeMessages:
    """Targets that take every message, unless the test says otherwise."""

    targets: Callable[[FindTargets], Awaitable[TargetsOutcome] | None] = lambda _: None
    """None: there is one, `phone`."""
    on_message: Callable[[SendNotification], Awaitable[NotificationSent] | None] = lambda _: None
    sent: list[SendNotification] = field(default_factory=list[SendNotification])
    """Every try."""

    async def find(self, request: FindTargets) -> TargetsOutcome:
        """Act as `notifications.targets`."""
        if (waits := self.targets(request)) is not None:
            return await waits
        return TargetsFound(targets=("phone",))

    async def send(self, request: SendNotification) -> NotificationSent:
        """Act as `notifications.send`."""
        self.sent.append(request)
        if (waits := self.on_message(request)) is not None:
            return await waits
        return NotificationSent()
