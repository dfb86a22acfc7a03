"""Text that can be stored and sent: a lone surrogate would make each later request fail."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import JsonValue


def clean(text: str) -> str:
    """Replace each lone UTF-16 surrogate by U+FFFD; surrogates that make a pair become one char."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def clean_json(
    value: "JsonValue | tuple[JsonValue, ...]", *, keeps_nan: bool = False
) -> "JsonValue":
    """Clean every string in `value`, keys included.

    Args:
        value: of any depth that Python's own stack bears.
        keeps_nan: whether a NaN or an infinity stays, for a check that names it; else it becomes
            None.
    """
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list | tuple):
        return [clean_json(item, keeps_nan=keeps_nan) for item in value]
    if isinstance(value, dict):
        # Not by `clean_object`: another frame a level would halve the depth that can be cleaned.
        return {clean(key): clean_json(item, keeps_nan=keeps_nan) for key, item in value.items()}
    if isinstance(value, float) and not keeps_nan and not math.isfinite(value):
        return None
    return value


def clean_object(
    value: "Mapping[str, JsonValue]", *, keeps_nan: bool = False
) -> "dict[str, JsonValue]":
    """Clean an object as `clean_json` does."""
    return {clean(key): clean_json(item, keeps_nan=keeps_nan) for key, item in value.items()}
