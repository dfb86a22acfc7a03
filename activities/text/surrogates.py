"""Text that can be stored and sent: a lone surrogate would make each later request fail."""

import math

from pydantic import JsonValue


def clean(text: str) -> str:
    """Replace each lone UTF-16 surrogate by U+FFFD; surrogates that make a pair become one char."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def clean_json(value: JsonValue | tuple[JsonValue, ...]) -> JsonValue:
    """Clean every string in `value`, keys included; a NaN or an infinity becomes None."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list | tuple):
        return [clean_json(item) for item in value]
    if isinstance(value, dict):
        return {clean(key): clean_json(item) for key, item in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value
