"""The ids of traces and spans: they follow from what they name, so that all who name it agree."""

import hashlib


def trace_of(session: str) -> str:
    """Return the id of a session's trace: 32 hexadecimal digits."""
    return digest("trace", session)[:32]


def span_of(workflow: str) -> str:
    """Return the id of a workflow's span, by the workflow's id: 16 hexadecimal digits."""
    return digest("workflow", workflow)[:16]


def digest(*parts: object) -> str:
    """Return 64 hexadecimal digits that follow from the parts."""
    return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()
