"""All targets of a person's settings, by name."""

from collections.abc import Callable, Mapping
from datetime import datetime

from activities.adapters.notifiers.apprise_target import AppriseTarget
from activities.adapters.notifiers.webhook_target import WebhookTarget
from activities.ports.land.notification_port import NotificationSettings, NotificationTarget
from workflows.domain.session.notification import TargetName


def targets_of(
    settings: NotificationSettings, clock: Callable[[], datetime]
) -> Mapping[TargetName, NotificationTarget]:
    """Return an adapter for each target; nothing is connected yet."""
    services = {name: AppriseTarget(address) for name, address in settings.targets.items()}
    webhooks = {name: WebhookTarget(entry, clock) for name, entry in settings.webhooks.items()}
    return {**services, **webhooks}
