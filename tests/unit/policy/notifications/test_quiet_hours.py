"""Quiet hours: how they are written, and until when they last."""

from datetime import datetime, timedelta, timezone

import pytest

from workflows.policy.notifications.quiet_hours import parse_quiet_hours, quiet_until

ZONE = timezone(timedelta(hours=2))


def at(day: int, hour: int, minute: int = 0) -> datetime:
    return datetime(2026, 11, day, hour, minute, tzinfo=ZONE)


@pytest.mark.parametrize(
    ("hours", "now", "until"),
    [
        ("22:00-07:00", at(1, 21, 59), None),
        ("22:00-07:00", at(1, 22), at(2, 7)),
        ("22:00-07:00", at(1, 23, 30), at(2, 7)),
        ("22:00-07:00", at(2, 0), at(2, 7)),
        ("22:00-07:00", at(2, 6, 59), at(2, 7)),
        ("22:00-07:00", at(2, 7), None),
        ("12:30-13:15", at(1, 12, 29), None),
        ("12:30-13:15", at(1, 12, 30), at(1, 13, 15)),
        ("12:30-13:15", at(1, 13, 15), None),
        ("22:00-00:00", at(1, 23), at(2, 0)),
    ],
)
def test_quiet_hours_last_until_just_before_their_end(
    hours: str, now: datetime, until: datetime | None
) -> None:
    assert quiet_until(now, parse_quiet_hours(hours)) == until


def test_without_quiet_hours_it_is_never_quiet() -> None:
    assert quiet_until(at(1, 3), None) is None


@pytest.mark.parametrize(
    "text",
    ["", "22-7", "24:00-07:00", "22:00-07:60", "22:00 - 07:00", "22:00-07:00\n", "٢٢:00-07:00"],
)
def test_what_is_written_otherwise_is_refused_with_the_form(text: str) -> None:
    with pytest.raises(ValueError, match="written as 22:00-07:00"):
        parse_quiet_hours(text)


def test_hours_without_length_are_refused() -> None:
    with pytest.raises(ValueError, match="begin and end at the same time"):
        parse_quiet_hours("07:00-07:00")
