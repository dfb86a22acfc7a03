"""A person's settings of notifications, and one place that messages are sent to.

The same model is the section `notifications:` of the person's own blueflame.yaml. Addresses are
kept as secrets, because most contain a password or a token.
"""

from pathlib import Path
from typing import Annotated, Protocol, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, Field, SecretStr, model_validator

from workflows.domain.session.notification import Notification, NotificationKind, TargetName
from workflows.policy.notifications.quiet_hours import QuietHours, parse_quiet_hours


def _with_scheme(address: SecretStr) -> SecretStr:
    if "://" not in address.get_secret_value():
        raise ValueError("an Apprise address begins with its service, as in ntfys://topic")
    return address


def _http(address: SecretStr) -> SecretStr:
    parts = urlsplit(address.get_secret_value())
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("a webhook's address begins with https:// (or http://) and a host")
    return address


def _hours(text: str) -> str:
    parse_quiet_hours(text)
    return text


AppriseAddress = Annotated[SecretStr, AfterValidator(_with_scheme)]
WebhookAddress = Annotated[SecretStr, AfterValidator(_http)]


class WebhookEntry(BaseModel, frozen=True, extra="forbid"):
    """A place that gets a signed JSON body."""

    url: WebhookAddress
    secret_file: Path
    """Holds the key of the signature; only its owner may be able to read it."""


class NotificationSettings(BaseModel, frozen=True, extra="forbid"):
    """What a person is told, where, and when not."""

    tell: tuple[NotificationKind, ...] = tuple(NotificationKind)
    targets: Annotated[dict[TargetName, AppriseAddress], Field(max_length=20)] = Field(
        default_factory=dict[TargetName, AppriseAddress]
    )
    webhooks: Annotated[dict[TargetName, WebhookEntry], Field(max_length=20)] = Field(
        default_factory=dict[TargetName, WebhookEntry]
    )
    quiet_hours: Annotated[str, AfterValidator(_hours)] | None = None

    @model_validator(mode="after")
    def _has_distinct_names(self) -> Self:
        if both := sorted(self.targets.keys() & self.webhooks.keys()):
            raise ValueError(f"{both[0]!r} names a target and a webhook; rename one of them")
        return self

    @property
    def has_targets(self) -> bool:
        """Whether there is anywhere to send a message."""
        return bool(self.targets or self.webhooks)

    @property
    def quiet(self) -> QuietHours | None:
        """The quiet hours; None: there are none."""
        return None if self.quiet_hours is None else parse_quiet_hours(self.quiet_hours)


class NotificationSettingsError(Exception):
    """The section `notifications` cannot be read; the message says where and why."""


class NotificationTarget(Protocol):
    """One place that messages are sent to."""

    async def send(self, notification: Notification) -> str:
        """Send a message, once.

        Returns:
            Why it did not arrive, without the target's address; empty if it did.
        """
        ...
