"""A session's id as people type it: whole, or its beginning or end."""

from typing import Final

LEAST: Final = 4
"""The least length of a part of an id: a shorter one may be a task's name, or a slip."""


def fits(session: str, typed: str) -> bool:
    """Tell whether a typed part of at least `LEAST` characters matches a session, ignoring case."""
    part = typed.lower()
    return len(part) >= LEAST and (session.startswith(part) or session.endswith(part))


def too_short(typed: str) -> str:
    """Return the end of a refusal: why a part that is too short names no session; often empty."""
    return f": it takes {LEAST} characters of an id or more" if len(typed) < LEAST else ""
