"""`starter.sessions.short_ids`: which part of an id names a session."""

import pytest

from starter.sessions.short_ids import fits, too_short

SESSION = "01m8hgsep4ec3t3qn45kx2wtt1"


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        (SESSION, True),
        (SESSION.upper(), True),
        ("01m8", True),
        ("wtt1", True),
        ("WTT1", True),
        ("ep4e", False),
        # What a task may be called: `log t1`, `stop t1`.
        ("tt1", False),
        ("t1", False),
        ("01m", False),
        ("", False),
    ],
)
def test_an_id_is_meant_by_four_characters_of_its_beginning_or_end(
    typed: str, *, expected: bool
) -> None:
    assert fits(SESSION, typed) is expected
    assert bool(too_short(typed)) is (len(typed) < 4)
