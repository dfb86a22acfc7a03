"""A session's id as people type it: whole, or its beginning or end."""


def fits(session: str, typed: str) -> bool:
    """Tell whether a typed part names a session; case does not count."""
    part = typed.lower()
    return session.startswith(part) or session.endswith(part)
