"""Quiet hours: times of the day at which no message is sent."""

import re
from datetime import datetime, time, timedelta
from typing import NamedTuple

_HOURS = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)", re.ASCII)


class QuietHours(NamedTuple):
    """From the beginning until just before the end, which may be on the next day."""

    begin: time
    end: time


def parse_quiet_hours(text: str) -> QuietHours:
    """Parse `22:00-07:00`.

    Raises:
        ValueError: it is written otherwise, or has no length.
    """
    match = _HOURS.fullmatch(text)
    if match is None:
        raise ValueError(f"quiet hours are written as 22:00-07:00, not {text[:40]!r}")
    a, b, c, d = map(int, match.groups())
    hours = QuietHours(time(a, b), time(c, d))
    if hours.begin == hours.end:
        raise ValueError("quiet hours begin and end at the same time; remove them, or correct one")
    return hours


def quiet_until(now: datetime, hours: QuietHours | None) -> datetime | None:
    """Return the end of the quiet hours that `now` is in; None: it is in none.

    Args:
        now: in the person's time zone.
        hours: None: there are none.
    """
    if hours is None:
        return None
    clock = now.time()
    over_night = hours.begin > hours.end
    is_before_end, is_after_begin = clock < hours.end, clock >= hours.begin
    is_quiet = (
        (is_before_end or is_after_begin) if over_night else (is_before_end and is_after_begin)
    )
    if not is_quiet:
        return None
    end = now.replace(hour=hours.end.hour, minute=hours.end.minute, second=0, microsecond=0)
    return end if end > now else end + timedelta(days=1)
