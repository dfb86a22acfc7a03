"""Queues of goals as the command line sees them: one workflow for each repository that has one."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from temporalio.client import Client, WithStartWorkflowOperation, WorkflowExecution
from temporalio.common import WorkflowIDConflictPolicy
from temporalio.service import RPCError

from activities.ports.land.issue_port import is_web_address
from starter.console.command_errors import CommandError
from starter.console.exit_codes import ExitCode
from starter.sessions.short_ids import fits, make_id, too_short
from workflows import queues
from workflows.domain.session.queued_goal import (
    MOST_AT_ONCE,
    Enqueue,
    NamedEntry,
    QueueAnswer,
    QueuedGoal,
    QueueRequest,
    QueueState,
    ShownQueue,
)

if TYPE_CHECKING:
    from workflows.domain.session.scheduled_goal import ScheduledGoal

WORKFLOW: Final = "GoalQueue"
_PATIENCE: Final = timedelta(seconds=15)


class Place(NamedTuple):
    """Where an entry is."""

    workflow: str
    entry: QueuedGoal


def entry_of(goal: "ScheduledGoal") -> QueuedGoal:
    """Return a new entry: an issue at a web address is one entry however often it comes."""
    name = make_id()
    key = goal.issue if is_web_address(goal.issue) else name
    return QueuedGoal(id=name, key=key, goal=goal, added_at=datetime.now(UTC))


class GoalQueues:
    """The queues of one namespace."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def enqueue(self, repository: str, goals: "Sequence[ScheduledGoal]") -> QueueAnswer:
        """Put goals into a repository's queue, which is made if it is not there.

        Args:
            repository: its root, as in the request of a session.
            goals: in their order.

        Raises:
            CommandError: the queue takes no more.
        """
        from workflows.schedules.repository_turn import queue_id

        added, known = list[str](), list[str]()
        for start in range(0, len(goals), MOST_AT_ONCE):
            entries = tuple(map(entry_of, goals[start : start + MOST_AT_ONCE]))
            answer = await self._client.execute_update_with_start_workflow(
                "enqueue",
                Enqueue(entries=entries),
                start_workflow_operation=WithStartWorkflowOperation(
                    WORKFLOW,
                    QueueRequest(repository=repository),
                    id=queue_id(repository),
                    id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
                    task_queue=queues.WORKFLOWS,
                    memo={"repository": repository},
                    static_summary=f"queue of {repository}"[:200],
                ),
                id=entries[0].id,  # an Update that is sent again is the same one
                result_type=QueueAnswer,
                rpc_timeout=_PATIENCE,
            )
            _check(answer)
            added += answer.added
            known += answer.known
        return QueueAnswer(added=tuple(added), known=tuple(known))

    async def list(self) -> list[ShownQueue]:
        """Return all queues, by repository.

        Raises:
            CommandError: no worker answers.
        """
        shown = await asyncio.gather(*map(self._shown, await self._runs()))
        return sorted(shown, key=lambda each: each.repository)

    async def remove(self, wanted: str) -> QueuedGoal:
        """Take an entry out that waits or was set aside, and return it.

        Args:
            wanted: its id, or enough of its beginning or end.

        Raises:
            CommandError: there is none, several match, or it is worked off.
        """
        return await self._change("remove", wanted)

    async def requeue(self, wanted: str) -> QueuedGoal:
        """Put an entry that was set aside at the end of its queue, and return it.

        Args:
            wanted: its id or that of its session, or enough of the beginning or end.

        Raises:
            CommandError: there is none, several match, or it is not set aside.
        """
        return await self._change("requeue", wanted)

    async def _change(self, update: str, wanted: str) -> QueuedGoal:
        place = await self._find(wanted)
        answer = await self._client.get_workflow_handle(place.workflow).execute_update(
            update,
            NamedEntry(id=place.entry.id),
            result_type=QueueAnswer,
            rpc_timeout=_PATIENCE,
        )
        _check(answer)
        return place.entry

    async def _find(self, wanted: str) -> Place:
        found: dict[str, Place] = {}
        for run in await self._runs():
            for names, entry in _named(await self._state(run)):
                if any(fits(name, wanted) for name in names):
                    found[entry.id] = Place(run.id, entry)
        if not found:
            text = f"no goal in a queue matches {wanted!r}{too_short(wanted)}"
            raise CommandError(f"{text}; `queue list` and `ls --failed` list them")
        if len(found) > 1:
            raise CommandError(f"several goals match {wanted!r}; give more of the id")
        return next(iter(found.values()))

    async def _runs(self) -> Sequence[WorkflowExecution]:
        query = f'WorkflowType="{WORKFLOW}" AND ExecutionStatus="Running"'
        return [run async for run in self._client.list_workflows(query)]

    async def _shown(self, run: WorkflowExecution) -> ShownQueue:
        return ShownQueue(
            repository=str(await run.memo_value("repository", "")),
            state=await self._state(run),
            since=run.start_time.astimezone(UTC),
        )

    async def _state(self, run: WorkflowExecution) -> QueueState:
        handle = self._client.get_workflow_handle(run.id)
        try:
            state = await handle.query("state", result_type=QueueState, rpc_timeout=_PATIENCE)
        except RPCError as error:
            raise CommandError(
                "no worker answers for the queue; `up --detach` starts one", ExitCode.UNAVAILABLE
            ) from error
        return QueueState.model_validate(state)


def _check(answer: QueueAnswer) -> None:
    if answer.refused:
        raise CommandError(answer.refused, ExitCode.STALE)


def _named(state: QueueState) -> list[tuple[tuple[str, ...], QueuedGoal]]:
    """Return every entry that has not ended complete, with the ids by which it can be named."""
    found: list[tuple[tuple[str, ...], QueuedGoal]] = [((each.id,), each) for each in state.waiting]
    if state.current is not None:
        found.append(((state.current.id, state.session or ""), state.current))
    return found + [((each.entry.id, each.session or ""), each.entry) for each in state.failed]
