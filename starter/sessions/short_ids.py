"""A session's id: made for a new one, and as people type it: whole, or its beginning or end."""

import secrets
import time
from typing import Final

from workflows.domain.ids import SessionId

LEAST: Final = 4
"""The least length of a part of an id: a shorter one may be a task's name, or a slip."""
_ALPHABET: Final = "0123456789abcdefghjkmnpqrstvwxyz"


def make_id(now: float | None = None, chance: int | None = None) -> SessionId:
    """Return a new session's id: 26 characters, sorted by time, as a lower-case ULID.

    Made here, because a library's ids are upper case and would save only these three lines.

    Args:
        now: seconds since 1970; None: the current time.
        chance: 80 random bits; None: from the system.
    """
    milliseconds = int((time.time() if now is None else now) * 1000)
    bits = (milliseconds << 80) | (secrets.randbits(80) if chance is None else chance)
    return SessionId("".join(_ALPHABET[(bits >> shift) & 31] for shift in range(125, -1, -5)))


def fits(session: str, typed: str) -> bool:
    """Tell whether a typed part of at least `LEAST` characters matches a session, ignoring case."""
    part = typed.lower()
    return len(part) >= LEAST and (session.startswith(part) or session.endswith(part))


def too_short(typed: str) -> str:
    """Return the end of a refusal: why a part that is too short names no session; often empty."""
    return f": it takes {LEAST} characters of an id or more" if len(typed) < LEAST else ""
