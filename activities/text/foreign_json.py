"""Reading JSON that someone else wrote: what is of another type than expected counts as absent."""

from collections.abc import Sequence
from typing import TypeGuard

Json = dict[str, object]
"""A JSON object whose values are not known yet."""


def is_table(value: object) -> TypeGuard[Json]:
    """Say whether parsed JSON is an object."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[Sequence[object]]:
    """Say whether parsed JSON is a list; our own models hold tuples."""
    return isinstance(value, list | tuple)


def table(value: object) -> Json:
    """Return `value` if it is an object, else an empty one."""
    return value if is_table(value) else {}


def tables(value: object) -> list[Json]:
    """Return copies of the objects in the list `value`; whatever else is in it is left out."""
    return [dict(item) for item in value if is_table(item)] if is_list(value) else []


def text(value: object) -> str:
    """Return `value` if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def count(value: object) -> int:
    """Return `value` if it is a whole number from zero on, else zero."""
    return max(value, 0) if isinstance(value, int) and not isinstance(value, bool) else 0
