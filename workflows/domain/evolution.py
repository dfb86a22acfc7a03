"""Changing frozen values: a copy in which some fields are replaced.

Each model that changes has a method `evolve` whose keyword arguments are a `TypedDict` of its
fields, so that the type checker refuses a wrong name and a wrong type. All of them end here.
"""

from collections.abc import Mapping
from typing import TypeVar

from pydantic import BaseModel

_Model = TypeVar("_Model", bound=BaseModel)


def evolve(value: _Model, changes: Mapping[str, object]) -> _Model:
    """Return a copy of a frozen value with some fields replaced.

    Args:
        value: it stays as it is.
        changes: the new values by field name. They are not validated: `value.evolve` types them.

    Raises:
        TypeError: a name is not a field of the model.
    """
    unknown = changes.keys() - type(value).model_fields.keys()
    if unknown:
        raise TypeError(f"{type(value).__name__} has no fields {sorted(unknown)}")
    return value.model_copy(update=changes)
