"""The section `notifications` of the person's own file, as workers read it."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from activities.ports.land.notification_port import NotificationSettings, NotificationSettingsError
from workers.own_file import local_now, read_notifications
from workflows.policy.notifications.quiet_hours import parse_quiet_hours, quiet_until


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    path = tmp_path / "blueflame" / "blueflame.yaml"
    path.parent.mkdir()
    return path


def test_without_a_file_or_section_nothing_is_told(own: Path) -> None:
    assert read_notifications() == NotificationSettings()
    own.write_text("version: 1\nturns: 9\n")
    assert read_notifications() == NotificationSettings()


def test_addresses_are_read_and_not_shown(own: Path) -> None:
    own.write_text(
        "version: 1\nbudget: {stop_usd: 1}\n"
        "notifications: {tell: [done], targets: {phone: 'json://u:hunter2@h/'}}\n"
    )
    found = read_notifications()
    assert found.targets["phone"].get_secret_value() == "json://u:hunter2@h/"
    assert found.has_targets
    assert "hunter2" not in repr(found)


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ("{targets: {phone: hunter2}}", "begins with its service"),
        ("{targets: {Phone: 'json://hunter2'}}", "Phone"),
        ("{webhooks: {ops: {url: 'ftp://hunter2', secret_file: k}}}", "begins with https://"),
        ("{webhooks: {ops: {url: 'http://hunter2'}}}", "secret_file"),
        ("{quiet_hours: '7-9'}", "22:00-07:00"),
        ("{tell: [everything]}", "tell"),
        (
            "{targets: {a: 'json://hunter2'}, webhooks: {a: {url: 'http://h', secret_file: k}}}",
            "names a target and a webhook",
        ),
        ("{adresses: {}}", "adresses"),
    ],
)
def test_a_wrong_section_is_refused_with_its_place_and_without_an_address(
    own: Path, section: str, said: str
) -> None:
    own.write_text(f"version: 1\nnotifications: {section}\n")
    with pytest.raises(NotificationSettingsError) as raised:
        read_notifications()
    assert str(raised.value).startswith(f"{own}:2:")
    assert said in str(raised.value)
    assert "`blueflame notify --test`" in str(raised.value)
    assert "hunter2" not in str(raised.value)


@pytest.fixture
def central_europe(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("central_europe")
@pytest.mark.parametrize(
    ("month", "day", "until"),
    [
        (3, 28, datetime(2026, 3, 29, 5, tzinfo=UTC)),
        (10, 24, datetime(2026, 10, 25, 6, tzinfo=UTC)),
        (11, 1, datetime(2026, 11, 2, 6, tzinfo=UTC)),
    ],
    ids=["to summer time", "from summer time", "any night"],
)
def test_quiet_hours_end_by_the_clock_of_that_day(month: int, day: int, until: datetime) -> None:
    evening = local_now().replace(2026, month, day, 23, 0, 0, 0, fold=0)
    assert quiet_until(evening, parse_quiet_hours("22:00-07:00")) == until


@pytest.mark.usefixtures("central_europe")
def test_now_is_this_moment() -> None:
    before, now, after = datetime.now(UTC), local_now(), datetime.now(UTC)
    assert before <= now <= after
    assert before.timestamp() <= now.timestamp() <= after.timestamp()
