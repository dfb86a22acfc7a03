"""What workflows ask for and what workers offer are the same: name, queue, input, outcome."""

from datetime import timedelta
from typing import Any, get_type_hints

import pytest
from temporalio import activity

from tests.all_contracts import CONTRACTS
from workers import wiring
from workers.hosting import data_layout
from workers.roles import Role
from workers.settings import Settings
from workflows.contracts.contract import Contract
from workflows.errors import FailureType


@pytest.fixture(scope="module")
def offered(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Role, Any]]:
    """Every activity that any role offers, by its name."""
    settings = Settings(data_dir=tmp_path_factory.mktemp("data"))
    data_layout.prepare(settings)
    offered: dict[str, tuple[Role, Any]] = {}
    for role in Role:
        for each in wiring.activities_for(role, settings):
            name = str(activity._Definition.must_from_callable(each).name)  # pyright: ignore[reportPrivateUsage] (the SDK has no other way)
            assert name not in offered, f"two activities are called {name!r}"
            offered[name] = (role, each)
    return offered


def test_every_contract_is_kept_and_nothing_else_is_offered(
    offered: dict[str, tuple[Role, Any]],
) -> None:
    names = [contract.name for contract in CONTRACTS]
    assert len(names) == len(set(names))
    assert sorted(offered) == sorted(names)


@pytest.mark.parametrize("contract", CONTRACTS, ids=lambda contract: contract.name)
def test_an_activity_takes_and_gives_what_its_contract_says(
    offered: dict[str, tuple[Role, Any]], contract: Contract[Any, Any]
) -> None:
    role, implementation = offered[contract.name]
    hints = get_type_hints(implementation, include_extras=True)
    plain = get_type_hints(implementation)
    assert hints.pop("return") == contract.outcome or plain["return"] == contract.outcome
    assert list(hints.values()) == [contract.request]
    assert contract.queue == role


@pytest.mark.parametrize("contract", CONTRACTS, ids=lambda contract: contract.name)
def test_retries_know_every_failure_that_a_repeat_cannot_fix(contract: Contract[Any, Any]) -> None:
    known = {str(kind) for kind in FailureType}
    never = contract.retry.non_retryable_error_types or ()
    assert {kind for kind in never if not kind.startswith("TemporalTimeout:")} <= known
    assert FailureType.FENCED in never


@pytest.mark.parametrize("contract", CONTRACTS, ids=lambda contract: contract.name)
def test_r54_whatever_runs_or_asks_for_long_is_told_of_a_stop(contract: Contract[Any, Any]) -> None:
    """Cancellations come by heartbeat, and those without any end soon by themselves."""
    longest = timedelta(minutes=5)
    assert contract.heartbeat is not None or contract.start_to_close <= longest
