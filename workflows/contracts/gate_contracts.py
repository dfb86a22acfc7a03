"""Role host: the gates of one commit."""

from datetime import timedelta
from typing import Final

from pydantic import BaseModel

from workflows import queues
from workflows.contracts.contract import HEARTBEAT, Contract, retry
from workflows.contracts.host_contracts import time_to_prepare
from workflows.domain.environment import ProjectEnvironment
from workflows.domain.gate import GateReport, GateSpec
from workflows.domain.ids import Commit, SessionId
from workflows.domain.repository import CopiedFile
from workflows.domain.session.session_config import SETUP_TIMEOUT, HostPattern
from workflows.domain.session.wave_values import Grounds


class RunGates(BaseModel, frozen=True, extra="forbid"):
    """Judge one commit's tree with all gates, in the sandbox, on a fresh checkout."""

    session: SessionId
    key: str
    commit: Commit
    gates: tuple[GateSpec, ...]
    baseline: GateReport | None
    """The base's results; failures not among them are rerun once. None: this is the baseline."""
    since: Commit | None = None
    """What the commit stands on: only gates that the difference concerns run. None: all do."""
    setup: tuple[tuple[str, ...], ...] = ()
    network: tuple[HostPattern, ...] = ()
    """Hosts that the set-up commands, but no gate, may reach."""
    setup_timeout: timedelta = SETUP_TIMEOUT
    """The time limit of each set-up command."""
    copied: tuple[CopiedFile, ...] = ()
    environment: ProjectEnvironment = ProjectEnvironment()


_AROUND_A_GATE: Final = timedelta(minutes=1)
"""To end its processes, read its output and clean the checkout."""


def time_for_gates(request: RunGates) -> timedelta:
    """Return the bound for gates on one commit, by their own limits and set-up's.

    | part                                 | times                                          |
    |--------------------------------------|------------------------------------------------|
    | a checkout and set-up                | once                                           |
    | each gate's time limit, and a minute | once; with a baseline twice, for the rerun     |
    | all gates                            | again: another may judge the same commit       |
    """
    runs = 1 if request.baseline is None else 2
    gates = sum((gate.timeout + _AROUND_A_GATE for gate in request.gates), timedelta())
    return time_to_prepare(request.setup, request.setup_timeout) + 2 * runs * gates


async def run_gates(request: RunGates, summary: str, queue: str) -> GateReport:
    """Ask a host to run gates, for as long as they may take; workflow code."""
    bound = time_for_gates(request)
    return await RUN_GATES.ask(request, summary, queue=queue, start_to_close=bound)


def gates_on(
    grounds: Grounds, commit: Commit, baseline: GateReport | None, since: Commit | None = None
) -> RunGates:
    """Return the order to run a session's gates on a commit; the others as in `RunGates`."""
    return RunGates(
        session=grounds.session,
        key=grounds.key,
        commit=commit,
        gates=grounds.gates,
        baseline=baseline,
        since=since,
        setup=grounds.worktree.setup,
        network=grounds.worktree.network,
        setup_timeout=grounds.worktree.setup_timeout,
        copied=grounds.copied,
        environment=grounds.environment,
    )


RUN_GATES = Contract[RunGates, GateReport](
    "gates.run", RunGates, GateReport, queues.HOST, timedelta(hours=4), retry(5), HEARTBEAT
)
