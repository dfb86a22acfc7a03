"""Every contract between workflows and activities, as the modules of each role define them."""

from typing import Any

from workflows.contracts import (
    gate_contracts,
    host_contracts,
    hosting_contracts,
    land_contracts,
    merging_contracts,
    model_contracts,
)
from workflows.contracts.contract import Contract

CONTRACTS: list[Contract[Any, Any]] = [
    value
    for module in (
        land_contracts,
        host_contracts,
        hosting_contracts,
        gate_contracts,
        merging_contracts,
        model_contracts,
    )
    for value in vars(module).values()
    if isinstance(value, Contract)
]
