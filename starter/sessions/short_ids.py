"""A session's id as people type it: whole, or its beginning or end."""

from typing import Final

LEAST: Final = 4
"""So many characters of an id name a session: fewer may by chance be a task's name, or a slip."""


def fits(session: str, typed: str) -> bool:
    """Tell whether a typed part of at least `LEAST` characters names a session, in any case."""
    part = typed.lower()
    return len(part) >= LEAST and (session.startswith(part) or session.endswith(part))


def too_short(typed: str) -> str:
    """Return the end of a refusal: why a part that names no session names none; often nothing."""
    return f": it takes {LEAST} characters of an id or more" if len(typed) < LEAST else ""
