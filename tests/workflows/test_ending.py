"""How a session ends: what is seen meanwhile, and what a stop leaves behind."""

import pytest
from temporalio.worker import Worker

from tests.fakes.silent_ledger import SilentLedger
from tests.fakes.world import World, planned
from tests.theatre import Theatre
from workers import wiring
from workers.roles import Role as WorkerRole
from workers.serving import workflow_runner
from workflows.domain.config import Approvals
from workflows.domain.gate import GateSpec
from workflows.domain.task import TaskState
from workflows.ledger import SessionLedger

pytestmark = pytest.mark.asyncio(loop_scope="session")

UNATTENDED = Approvals(plan="auto", changeset="auto_if_green")
GATES = (GateSpec(name="tests", argv=("true",)),)


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
            workflow_runner=workflow_runner(),
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
