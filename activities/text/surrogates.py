"""Text that can be stored and sent: a lone surrogate would make each later request fail."""

import math
from collections.abc import Mapping

from pydantic import JsonValue, TypeAdapter

from activities.text.foreign_json import is_list, is_table

_Json: TypeAdapter[JsonValue] = TypeAdapter(JsonValue)
_Object = TypeAdapter(dict[str, JsonValue])


def clean(text: str) -> str:
    """Replace each lone UTF-16 surrogate by U+FFFD; surrogates that make a pair become one char."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def clean_values(value: object, *, keeps_nan: bool = False) -> object:
    """Clean every string in nested lists and objects, keys included.

    A tuple becomes a list; what JSON does not have stays as it is.

    Args:
        value: of any depth that Python's own stack bears.
        keeps_nan: whether a NaN or an infinity stays, for a check that names it; else it becomes
            None.
    """
    if isinstance(value, str):
        return clean(value)
    if is_list(value):
        return [clean_values(item, keeps_nan=keeps_nan) for item in value]
    if is_table(value):
        return {clean(key): clean_values(item, keeps_nan=keeps_nan) for key, item in value.items()}
    if isinstance(value, float) and not keeps_nan and not math.isfinite(value):
        return None
    return value


def clean_json(value: object) -> JsonValue:
    """Return JSON with every string cleaned; see `clean_values`.

    Raises:
        ValidationError: it holds something that JSON does not have.
    """
    return _Json.validate_python(clean_values(value))


def clean_table(value: Mapping[str, object], *, keeps_nan: bool = False) -> dict[str, JsonValue]:
    """Return a JSON object with every string cleaned; see `clean_values` and `clean_json`."""
    return _Object.validate_python(clean_values(value, keeps_nan=keeps_nan))
