"""Every wait that a provider has been seen to ask for."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.text.retry_after import MAX_WAIT, parse_wait, retry_after

NOW = datetime(2026, 11, 27, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30", 30),
        (" 1.5 ", 1.5),
        ("18000", 18_000),
        ("0", None),
        ("-5", None),
        ("", None),
        ("nan", None),
        ("inf", None),
        ("soon", None),
        ("6m0s", 360),
        ("1h2m3s", 3_723),
        ("1d", 86_400),
        ("250ms", 0.25),
        ("3.5s", 3.5),
        ("0s", None),
        ("5 apples", None),
        ("5s later", None),
        ("Wed, 21 Oct 2015 07:28:00 GMT", None),
        ("Fri, 27 Nov 2026 12:00:30 GMT", 30),
        ("Fri, 27 Nov 2026 12:00:30 -0000", 30),
        ("Fri, 27 Nov 2026 13:00:30 +0100", 30),
        ("Fri, 99 Nov 2026 12:00:30 GMT", None),
        ("9" * 400, None),
        ("99999999999", MAX_WAIT.total_seconds()),
    ],
)
def test_parse_wait(text: str, seconds: float | None) -> None:
    """Field report R13."""
    expected = None if seconds is None else timedelta(seconds=seconds)
    assert parse_wait(text, NOW) == expected


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7),
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after-ms": "0", "retry-after": "7"}, 7),
    ],
)
def test_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    expected = None if seconds is None else timedelta(seconds=seconds)
    assert retry_after(headers, NOW) == expected


@given(st.text(max_size=40))
def test_any_text_is_a_useful_wait_or_none(text: str) -> None:
    wait = parse_wait(text, NOW)
    assert wait is None or timedelta(0) < wait <= MAX_WAIT
