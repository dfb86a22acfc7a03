"""How long an activity that runs gates may take."""

from datetime import timedelta

import pytest

from workflows.contracts.gate_contracts import RunGates, time_for_gates
from workflows.contracts.host_contracts import PREPARE_WORKTREE
from workflows.domain.gate import GateReport, GateSpec
from workflows.domain.ids import Commit, SessionId, Tree

_PREPARE = PREPARE_WORKTREE.start_to_close
_BASE = GateReport(tree=Tree("t"), results=())


@pytest.mark.parametrize(
    ("minutes", "setup_minutes", "baseline", "expected"),
    [
        ((), 0, None, _PREPARE),
        ((9,), 0, None, _PREPARE + timedelta(minutes=20)),
        ((9, 19), 0, None, _PREPARE + timedelta(minutes=60)),
        ((9, 19), 0, _BASE, _PREPARE + timedelta(minutes=120)),
        ((9,), 40, None, _PREPARE + timedelta(minutes=2 * 30 + 20)),
        ((600,), 0, _BASE, _PREPARE + timedelta(minutes=4 * 601)),
    ],
)
def test_the_bound_follows_the_limits_of_gates_and_set_up(
    minutes: tuple[int, ...], setup_minutes: int, baseline: GateReport | None, expected: timedelta
):
    gates = [
        GateSpec(name=f"g{number}", argv=("true",), timeout=timedelta(minutes=each))
        for number, each in enumerate(minutes)
    ]
    request = RunGates(
        session=SessionId("s"),
        key="k",
        commit=Commit("c"),
        gates=tuple(gates),
        baseline=baseline,
        setup=(("true",),) if setup_minutes else (),
        setup_timeout=timedelta(minutes=setup_minutes or 10),
    )
    assert time_for_gates(request) == expected
