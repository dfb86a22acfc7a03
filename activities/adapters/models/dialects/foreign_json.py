"""Reading JSON that someone else wrote: what is of another type than expected counts as absent."""

from typing import Any, cast

Json = dict[str, Any]


def table(value: Any) -> Json:
    """Return `value` if it is an object, else an empty one."""
    return cast("Json", value) if isinstance(value, dict) else {}


def tables(value: Any) -> list[Json]:
    """Return copies of the objects in the list `value`; whatever else is in it is left out."""
    items = cast("list[Any]", value) if isinstance(value, list) else []
    return [dict(cast("Json", item)) for item in items if isinstance(item, dict)]


def text(value: Any) -> str:
    """Return `value` if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def count(value: Any) -> int:
    """Return `value` if it is a whole number from zero on, else zero."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return max(cast("int", value), 0) if is_number else 0
