"""Frozen values change by names that exist; each `evolve` types fields as its model does."""

import inspect
import pkgutil
from collections.abc import Iterator
from decimal import Decimal
from importlib import import_module
from typing import get_args, get_type_hints

import pytest
from pydantic import BaseModel

import workflows.domain
from workflows.domain.budget import AgentAccount
from workflows.domain.evolution import evolve


def _evolving() -> Iterator[type[BaseModel]]:
    """Every model of the domain that has a method `evolve`."""
    for found in pkgutil.walk_packages(workflows.domain.__path__, "workflows.domain."):
        for _, value in inspect.getmembers(import_module(found.name), inspect.isclass):
            is_own = value.__module__ == found.name and "evolve" in vars(value)
            if is_own and issubclass(value, BaseModel):
                yield value


EVOLVING = list(_evolving())


def test_refuses_a_name_that_is_not_a_field() -> None:
    with pytest.raises(TypeError, match="settled_eur"):
        evolve(AgentAccount(), {"settled_eur": Decimal(1)})


def test_replaces_a_field_and_leaves_the_value_alone() -> None:
    before = AgentAccount()
    assert before.evolve(settled_usd=Decimal(2)).settled_usd == 2
    assert before == AgentAccount()


def test_the_values_that_change_are_found() -> None:
    assert {"SessionState", "TaskRecord", "AgentState"} <= {each.__name__ for each in EVOLVING}


@pytest.mark.parametrize("model", EVOLVING, ids=lambda model: model.__name__)
def test_changes_are_typed_as_the_fields_are(model: type[BaseModel]) -> None:
    (changes,) = get_args(get_type_hints(vars(model)["evolve"])["changes"])
    assert get_type_hints(changes).items() <= get_type_hints(model).items()
