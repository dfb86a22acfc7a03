"""Changing frozen values: a copy in which some fields are replaced.

Each model that changes has a method `evolve`. Its keyword arguments are a `TypedDict` of the
fields, so the type checker rejects a wrong name or type. All of these methods call `evolve` here.
"""

from collections.abc import Mapping
from typing import TypeVar

from pydantic import BaseModel

_Model = TypeVar("_Model", bound=BaseModel)


def evolve(value: _Model, changes: Mapping[str, object]) -> _Model:
    """Return a copy of a frozen value with some fields replaced.

    Args:
        value: stays unchanged.
        changes: the new values by field name. They are not validated: `value.evolve` types them.

    Raises:
        TypeError: a name is not a field of the model.
    """
    unknown = changes.keys() - type(value).model_fields.keys()
    if unknown:
        raise TypeError(f"{type(value).__name__} has no fields {sorted(unknown)}")
    return value.model_copy(update=changes)
