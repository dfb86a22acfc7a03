"""What a person does to single workflows in the Web UI: terminate, cancel and reset.

Each ends in a named state or goes on. Nothing is merged or delivered twice, and the session never
says less than what the provider would bill.
"""

import contextlib
import uuid
from decimal import Decimal
from typing import Any

import pytest
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import EventType
from temporalio.api.workflowservice.v1 import ResetWorkflowExecutionRequest
from temporalio.client import WorkflowExecutionStatus, WorkflowFailureError, WorkflowHandle

from tests.fakes.world import Hold, World, planned
from tests.theatre import Playing, Theatre, states
from tests.waiting import ends
from workflows.contracts.gate_contracts import RunGates
from workflows.contracts.host_contracts import RunTools
from workflows.contracts.land_contracts import DeliverBranch, DeliveryOutcome
from workflows.contracts.merging_contracts import AdvanceBranch, Advanced
from workflows.domain.gate import GateReport
from workflows.domain.session.query_answers import SessionResult

pytestmark = pytest.mark.asyncio(loop_scope="session")

BY_HAND = "by hand, in a test"


def part(theatre: Theatre, session: Playing, name: str) -> WorkflowHandle[Any, Any]:
    return theatre.client.get_workflow_handle(f"{session.handle.id}/{name}")


class Held(World):
    """One task; its first attempt, or its first merge, waits until the test lets it go."""

    def __init__(self, at: str) -> None:
        super().__init__(planned({"id": "a"}), usd_per_call=Decimal("0.01"))
        self.hold = Hold()
        self.advanced: list[AdvanceBranch] = []
        self._at = at

    async def run_tools(self, request: RunTools) -> Any:
        if self._at == "tools" and request.worktree.agent.endswith(".1"):
            await self.hold.wait()
        return await super().run_tools(request)

    async def run_gates(self, request: RunGates) -> GateReport:
        if self._at == "gates" and request.baseline is not None:
            await self.hold.wait()
        return await super().run_gates(request)

    async def advance(self, request: AdvanceBranch) -> Advanced:
        self.advanced.append(request)
        if self._at == "advance" and len(self.advanced) == 1:
            await self.hold.outlast()
        return await super().advance(request)

    async def deliver(self, request: DeliverBranch) -> DeliveryOutcome:
        delivered = await super().deliver(request)
        if self._at == "deliver" and len(self.delivered) == 1:
            await self.hold.outlast()
        return delivered


CASES = {
    "agent": ("tools", "1/develop/dev.a.1"),
    "develop": ("tools", "1/develop"),
    "validate": ("gates", "2/validate"),
    "merge": ("advance", "3/merge"),
    "delivered": ("deliver", "3/merge"),
}


def is_consistent(world: Held, result: SessionResult) -> None:
    assert len({(each.old, each.new) for each in world.delivered}) == 1
    assert result.spent_usd >= world.spent


_FAST = ("develop", "terminate")
_PAIRS = [
    pytest.param(name, how, marks=() if (name, how) == _FAST else pytest.mark.slow)
    for name in CASES
    for how in ("terminate", "cancel")
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("name", "how"), _PAIRS)
async def test_a_part_that_is_ended_by_hand_is_made_again(theatre: Theatre, name: str, how: str):
    at, place = CASES[name]
    world = Held(at)
    async with theatre.session(world) as session:
        await ends(world.hold.reached.wait(), "the work is under way")
        handle = part(theatre, session, place)
        await (handle.terminate(BY_HAND) if how == "terminate" else handle.cancel())
        world.hold.release()
        result = await session.result()
    assert (result.outcome, states(result)["a"][0]) == ("complete", "merged")
    assert (result.branch, result.head) == (
        f"blueflame/{session.handle.id.partition('/')[2]}",
        world.delivered[-1].new,
    )
    is_consistent(world, result)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["terminate", "cancel"])
async def test_without_its_ledger_a_session_fails_by_name(theatre: Theatre, how: str):
    world = Held("tools")
    async with theatre.session(world) as session:
        await ends(world.hold.reached.wait(), "the work is under way")
        handle = part(theatre, session, "ledger")
        await (handle.terminate(BY_HAND) if how == "terminate" else handle.cancel())
        with pytest.raises(WorkflowFailureError) as failed:
            await session.result()
        view = await session.view()
    assert "the session's ledger is gone: its workflow was" in str(failed.value.cause)
    assert view.reason.endswith("start another session, the merged work stays")
    assert view.phase == "ended"


async def reset(
    theatre: Theatre, handle: WorkflowHandle[Any, Any], number: int
) -> WorkflowHandle[Any, Any]:
    """Reset a workflow to one of its workflow tasks, as the Web UI does; -1: the last."""
    done = [
        event.event_id
        for event in (await handle.fetch_history()).events
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
    ]
    asked = ResetWorkflowExecutionRequest(
        namespace=theatre.client.namespace,
        workflow_execution=WorkflowExecution(workflow_id=handle.id),
        reason=BY_HAND,
        workflow_task_finish_event_id=done[number],
        request_id=uuid.uuid4().hex,
    )
    answer = await theatre.client.workflow_service.reset_workflow_execution(asked)
    return theatre.client.get_workflow_handle(
        handle.id, run_id=answer.run_id, result_type=SessionResult
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "number"),
    [("develop", 1), ("develop", -1), ("merge", 1), ("merge", -1), ("ended", -1)],
)
async def test_a_session_that_is_reset_goes_on(theatre: Theatre, name: str, number: int):
    world = Held(CASES[name][0] if name in CASES else "nowhere")
    async with theatre.session(world) as session:
        if name == "ended":
            await session.result()
        else:
            await ends(world.hold.reached.wait(), "the work is under way")
        again = await reset(theatre, session.handle, number)
        world.hold.release()
        result = await ends(again.result(), "the end of the reset session")
    assert result.outcome == "complete"
    assert states(result) == {"a": ("merged", 1)}
    is_consistent(world, result)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "number", "reason"),
    [
        ("ended", 0, "the session was reset to its beginning"),
        ("ended", 1, "the session's ledger has ended"),
        ("develop", 0, "the session was reset to its beginning"),
        ("merge", 0, "the session was reset to its beginning"),
    ],
)
async def test_a_reset_that_would_spend_the_budget_again_fails_by_name(
    theatre: Theatre, name: str, number: int, reason: str
):
    world = Held(CASES[name][0] if name in CASES else "nowhere")
    async with theatre.session(world) as session:
        if name == "ended":
            await session.result()
        else:
            await ends(world.hold.reached.wait(), "the work is under way")
        spent = world.spent
        again = await reset(theatre, session.handle, number)
        world.hold.release()
        with pytest.raises(WorkflowFailureError) as failed:
            await ends(again.result(), "the end of the reset session")
    assert reason in str(failed.value.cause)
    assert world.spent <= spent + world.usd


@pytest.mark.slow
async def test_the_parts_of_a_terminated_session_end_and_its_ledger_is_left(theatre: Theatre):
    """`cleanup` ends such a ledger."""
    world = Held("tools")
    async with theatre.session(world) as session:
        await ends(world.hold.reached.wait(), "the work is under way")
        await session.handle.terminate(BY_HAND)
        for name in ("1/develop", "1/develop/dev.a.1"):
            with contextlib.suppress(WorkflowFailureError):
                await ends(part(theatre, session, name).result(), f"the end of {name}")
        ledger = part(theatre, session, "ledger")
        assert (await ledger.describe()).status is WorkflowExecutionStatus.RUNNING
        await ledger.signal("finish")
        await ends(ledger.result(), "the end of the ledger")
