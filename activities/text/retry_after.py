"""Reads how long a provider asks to wait, in every form in use.

Seconds (whole or not), milliseconds, durations as Go and protobuf write them (`6m0s`, `3.5s`), and
HTTP dates. A useless wait (zero, negative, past, nonsense) is None. The caller's own back-off then
applies, so no provider's answer causes a hot loop.
"""

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

MAX_WAIT = timedelta(days=31)

_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|us|µs|ns|d|h|m|s)")
_UNIT_S = {
    "d": 86_400.0,
    "h": 3_600.0,
    "m": 60.0,
    "s": 1.0,
    "ms": 1e-3,
    "us": 1e-6,
    "µs": 1e-6,
    "ns": 1e-9,
}


def retry_after(headers: Mapping[str, str], now: datetime) -> timedelta | None:
    """Read the wait from an answer's headers; `retry-after-ms` takes precedence over `retry-after`.

    Args:
        headers: names in lower case, or a mapping that ignores case.
        now: the reference time for dates, with a zone.
    """
    milliseconds = parse_wait(headers.get("retry-after-ms", ""), now)
    if milliseconds is not None:
        return milliseconds / 1000
    return parse_wait(headers.get("retry-after", ""), now)


def parse_wait(text: str, now: datetime) -> timedelta | None:
    """Read one wait: a number of seconds, a duration, or an HTTP date.

    Returns:
        More than zero and at most 31 days, or None if the text names no useful wait.
    """
    seconds = _seconds(text.strip(), now)
    if seconds is None or not math.isfinite(seconds) or seconds <= 0:
        return None
    return min(timedelta(seconds=min(seconds, MAX_WAIT.total_seconds())), MAX_WAIT)


def _seconds(text: str, now: datetime) -> float | None:
    try:
        return float(text)
    except ValueError:
        pass
    parts = _PART.findall(text)
    if parts and "".join(number + unit for number, unit in parts) == text:
        return sum(float(number) * _UNIT_S[unit] for number, unit in parts)
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError):
        return None
    aware = date if date.tzinfo is not None else date.replace(tzinfo=UTC)
    return (aware - now).total_seconds()
