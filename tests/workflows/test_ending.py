"""How a session ends: what is seen meanwhile, and what a stop leaves behind."""

import asyncio
import contextlib

import pytest
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from tests.fakes.silent_ledger import SilentLedger
from tests.fakes.world import Hold, World, name_of, planned
from tests.theatre import Theatre, states
from workers import wiring
from workers.roles import Role as WorkerRole
from workflows.contracts.gate_contracts import RunGates
from workflows.contracts.land_contracts import DeliverBranch, Delivered
from workflows.domain.gate import GateReport, GateSpec
from workflows.domain.session.session_config import Approvals
from workflows.domain.task import TaskState
from workflows.ledger import SessionLedger

pytestmark = pytest.mark.asyncio(loop_scope="session")

UNATTENDED = Approvals(plan="auto", changeset="auto_if_green")
GATES = (GateSpec(name="tests", argv=("true",)),)


@pytest.mark.slow
async def test_a_session_that_ends_by_itself_never_looks_as_if_it_waited(theatre: Theatre):
    """Without a terminal `watch` would leave with code 3, and end the workers that it keeps."""
    world = World(planned({"id": "a"}))
    world.gate_fails = lambda _: True
    honest = [each for each in wiring.workflows_for(WorkerRole.WORKFLOWS) if each != SessionLedger]
    async with (
        Worker(
            theatre.client,
            task_queue="silent",
            workflows=[*honest, SilentLedger],
            workflow_runner=UnsandboxedWorkflowRunner(),
        ),
        theatre.session(
            world, queue="silent", approvals=UNATTENDED, gates=GATES, attempts=1
        ) as session,
    ):
        view = await session.until(lambda view: bool(view.reason))
        ledger = theatre.client.get_workflow_handle(f"{session.handle.id}/ledger")
        await ledger.signal("release")
        result = await session.result()
    assert [task.state for task in view.tasks] == [TaskState.FAILED]
    assert (view.phase, view.reason) == ("ended", "not done: a (failed)")
    assert result.outcome == "incomplete"


class SlowMerge(World):
    """The gates on the second merged tree come to no end."""

    def __init__(self) -> None:
        super().__init__(planned({"id": "a"}, {"id": "b"}))
        self.hold = Hold()

    async def run_gates(self, request: RunGates) -> GateReport:
        of_a, of_b = (name_of("task", task, 1, name_of("base")) for task in ("a", "b"))
        if request.commit == name_of(name_of(name_of("base"), of_a), of_b):
            await self.hold.wait()
        return await super().run_gates(request)


class LateDelivery(World):
    """The first delivery comes about although it was cancelled on its way."""

    def __init__(self) -> None:
        super().__init__(planned({"id": "a"}))
        self.hold = Hold()

    async def deliver(self, request: DeliverBranch) -> Delivered:
        if not self.delivered:
            with contextlib.suppress(asyncio.CancelledError):
                await self.hold.wait()
        self.delivered.append(request)
        return Delivered(branch=f"blueflame/{request.session}")


@pytest.mark.parametrize(
    ("world", "ends"),
    [
        (SlowMerge(), {"a": ("merged", 1), "b": ("cancelled", 1)}),
        (LateDelivery(), {"a": ("merged", 1)}),
    ],
    ids=["between two merges", "while it is delivered"],
)
@pytest.mark.slow
async def test_a_stop_brings_what_is_merged_to_the_repository(
    theatre: Theatre, world: SlowMerge | LateDelivery, ends: dict[str, tuple[str, int]]
):
    async with theatre.session(world, approvals=UNATTENDED, gates=GATES) as session:
        await world.hold.arrived()
        await session.say("stop")
        result = await session.result()
    assert (result.outcome, states(result)) == ("stopped", ends)
    assert world.delivered[-1].new == result.head
    assert result.branch == f"blueflame/{world.delivered[-1].session}"
