"""Where messages arrive: Apprise's JSON target and webhooks, over HTTP to a local server."""

import base64
import hashlib
import hmac
from collections.abc import Generator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import SecretStr

from activities.adapters.notifiers.apprise_target import AppriseTarget
from activities.adapters.notifiers.webhook_target import WebhookTarget, read_key, signed_headers
from activities.ports.land.notification_port import WebhookEntry
from tests.receiver import Receiver, receiving
from workflows.domain.session.notification import Item, Notification, NotificationKind

NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)
KEY = b"0123456789abcdef"
MESSAGE = Notification(
    id="s1/1",
    kind=NotificationKind.FAILED,
    session="s1",
    goal="a goal",
    title="Blue Flame: failed: s1",
    items=(Item(text="it failed", command="blueflame retry a --session s1"),),
    at=NOON,
)


@pytest.fixture
def receiver() -> Generator[Receiver]:
    with receiving() as receiver:
        yield receiver


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "ops.key"
    path.write_bytes(KEY + b"\n")
    path.chmod(0o600)
    return path


def webhook(port: int, secret: Path) -> WebhookTarget:
    url = SecretStr(f"http://127.0.0.1:{port}/secret-path")
    return WebhookTarget(WebhookEntry(url=url, secret_file=secret), lambda: NOON)


async def test_a_webhooks_signature_can_be_checked_with_the_key(
    receiver: Receiver, secret: Path
) -> None:
    assert await webhook(receiver.port, secret).send(MESSAGE) == ""
    (post,) = receiver.posts
    signed = f"s1/1.{int(NOON.timestamp())}.".encode() + post.body
    mac = base64.b64encode(hmac.new(KEY, signed, hashlib.sha256).digest()).decode()
    assert post.headers["webhook-signature"] == f"v1,{mac}"
    assert Notification.model_validate_json(post.body) == MESSAGE


def test_the_signature_is_the_one_of_the_published_example() -> None:
    """The example of the specification's reference libraries."""
    key = base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    at = datetime.fromtimestamp(1614265330, UTC)
    headers = signed_headers(key, "msg_p5jXN8AQM9LWM0D4loKWxJek", at, b'{"test": 2432232314}')
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@pytest.mark.parametrize("status", [302, 400, 410, 500])
async def test_an_answer_that_is_no_success_is_a_fault(
    receiver: Receiver, secret: Path, status: int
) -> None:
    receiver.answers.append(status)
    fault = await webhook(receiver.port, secret).send(MESSAGE)
    assert fault == f"the server answered with status {status}"
    assert len(receiver.posts) == 1


async def test_a_fault_never_contains_the_address(secret: Path) -> None:
    with receiving() as gone:
        port = gone.port
    fault = await webhook(port, secret).send(MESSAGE)
    assert fault == "no answer (ConnectError)"
    service = AppriseTarget(SecretStr(f"json://user:hunter2@127.0.0.1:{port}/"))
    fault = await service.send(MESSAGE)
    assert fault
    assert "hunter2" not in fault


@pytest.mark.parametrize(
    ("text", "mode", "said"),
    [
        ("0123456789abcdef", 0o644, "chmod 600"),
        ("short", 0o600, "under 16 bytes"),
        ("whsec_!!", 0o600, "there must be base64"),
        ("", 0o600, "under 16 bytes"),
    ],
)
async def test_a_key_that_cannot_be_used_is_a_fault_and_nothing_is_sent(
    receiver: Receiver, tmp_path: Path, text: str, mode: int, said: str
) -> None:
    path = tmp_path / "key"
    path.write_text(text)
    path.chmod(mode)
    fault = await webhook(receiver.port, path).send(MESSAGE)
    assert said in fault
    assert receiver.posts == []


def test_a_key_may_be_coded_as_the_standard_does(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_text(f"whsec_{base64.b64encode(KEY).decode()}\n")
    path.chmod(0o600)
    assert read_key(path) == KEY


async def test_apprise_gets_title_text_and_kind(receiver: Receiver) -> None:
    target = AppriseTarget(SecretStr(f"json://127.0.0.1:{receiver.port}/phone"))
    assert await target.send(MESSAGE) == ""
    (post,) = receiver.to("/phone")
    assert {name: post.json[name] for name in ("title", "message", "type")} == {
        "title": "Blue Flame: failed: s1",
        "message": "a goal\n\nit failed\n  blueflame retry a --session s1",
        "type": "failure",
    }


@pytest.mark.parametrize(
    ("address", "said"),
    [("nosuchservice://x", "cannot read its address"), ("json://127.0.0.1:1/", "did not accept")],
)
async def test_an_address_that_leads_nowhere_is_a_fault(address: str, said: str) -> None:
    assert said in await AppriseTarget(SecretStr(address)).send(MESSAGE)


async def test_loading_apprise_takes_nothing_of_the_services_time(receiver: Receiver) -> None:
    """With no time at all for the service, its address is read all the same."""
    unreadable = AppriseTarget(SecretStr("nosuchservice://x"), patience_seconds=0)
    assert "cannot read its address" in await unreadable.send(MESSAGE)
    service = SecretStr(f"json://127.0.0.1:{receiver.port}/phone")
    assert await AppriseTarget(service, patience_seconds=0).send(MESSAGE) == "no answer within 0 s"
