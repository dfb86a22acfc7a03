"""Recorded histories still fit the workflow code: running sessions survive the change at hand.

They are played within Temporal's sandbox, which refuses what is not deterministic; workers leave
it out, because it would load the code again for each workflow. Passing modules through switches it
off for them, so that must hide nothing: slow tests pass nothing of ours through.
"""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
from temporalio.client import WorkflowHistory
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.worker import Replayer, WorkflowRunner
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions

from tests.replay.record import HISTORIES, load
from workers import wiring
from workers.roles import Role
from workflows.policy.decision import decisions

REMEDY = (
    "running sessions would fail: gate the change by workflow.patched, or, where no session that "
    "began before has to go on, record the histories again with scripts/record_histories"
)
_PURE = SandboxRestrictions.default.with_passthrough_modules(
    *("workflows.domain", "workflows.policy", "workflows.cancellation", "workflows.contracts"),
    *("workflows.queues", "workflows.errors", "pydantic", "pydantic_core"),
)
FOLDERS = sorted(path for path in HISTORIES.iterdir() if path.is_dir())
TYPES = sorted(each.__name__ for each in wiring.workflows_for(Role.WORKFLOWS))


def recorded(folder: str = "*", workflow: str = "*") -> list[Path]:
    """Return the files of recorded histories, in order."""
    return sorted(HISTORIES.glob(f"{folder}/{workflow}-*.json"))


async def replay(paths: Sequence[Path], runner: WorkflowRunner) -> None:
    """Play histories against the code as it is.

    Raises:
        AssertionError: one of them does not fit.
    """
    replayer = Replayer(
        workflows=wiring.workflows_for(Role.WORKFLOWS),
        workflow_runner=runner,
        data_converter=pydantic_data_converter,
        # Without a limit to the seconds of one step: a slow machine is no fault of the workflow's.
        debug_mode=True,
    )
    histories = [load(path) for path in paths]
    found = await replayer.replay_workflows(_each(histories), raise_on_replay_failure=False)
    assert not found.replay_failures, f"{found.replay_failures}; {REMEDY}"


async def _each(histories: Sequence[WorkflowHistory]) -> AsyncIterator[WorkflowHistory]:
    for history in histories:
        yield history


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
async def test_histories_replay(folder: Path):
    """Field report R54."""
    await replay(recorded(folder.name), SandboxedWorkflowRunner(restrictions=_PURE))


@pytest.mark.parametrize("workflow", ["AgentWorkflow", "SessionWorkflow"])
@pytest.mark.slow
async def test_one_history_of_the_two_largest_workflows_replays_without_the_pass_through(
    workflow: str,
):
    largest = max(recorded("*", workflow), key=lambda path: path.stat().st_size)
    await replay([largest], SandboxedWorkflowRunner())


@pytest.mark.slow
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
async def test_all_histories_replay_without_the_pass_through(folder: Path):
    await replay(recorded(folder.name), SandboxedWorkflowRunner())


def test_every_workflow_has_a_history():
    assert {path.name.partition("-")[0] for path in recorded()} == set(TYPES)


def test_every_signal_of_a_person_is_in_a_history():
    sent = {
        event.workflow_execution_signaled_event_attributes.signal_name
        for path in recorded(workflow="SessionWorkflow")
        for event in load(path).events
    }
    assert set(decisions.NAMES) <= sent


def test_sessions_ledgers_and_agents_that_continued_are_there():
    continued = {
        path.name.partition("-")[0]
        for path in recorded()
        if "workflowExecutionContinuedAsNewEventAttributes" in path.read_text(encoding="utf-8")
    }
    assert continued >= {"SessionWorkflow", "SessionLedger", "AgentWorkflow"}
