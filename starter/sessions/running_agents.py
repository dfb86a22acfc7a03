"""The agents that work on a session now: since when, in which turn, at what cost so far.

Each is asked with a query, so it needs a worker; an agent that does not answer is left out.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from decimal import Decimal
from types import MappingProxyType
from typing import Final, NamedTuple

from temporalio.client import Client, WorkflowExecution, WorkflowQueryFailedError
from temporalio.service import RPCError

from starter.sessions.turn_history import task_of
from workflows.domain.agent.agent_values import AgentState
from workflows.domain.ids import SessionId, TaskId
from workflows.domain.session.query_answers import TaskCosts

_QUERY: Final = timedelta(seconds=4)


class RunningAgent(NamedTuple):
    """One agent, as it answered last."""

    name: str
    """Such as `dev.<task>.<attempt>` or `plan.1`."""
    since: datetime
    turn: int
    usd: Decimal

    @property
    def task(self) -> str:
        """The task that it works on; empty for the planner."""
        return task_of(self.name)

    @property
    def is_reviewer(self) -> bool:
        """Whether it judges a task's work."""
        return self.name.startswith("review.")


class Work(NamedTuple):
    """A session's running agents, and what ended ones have cost."""

    agents: tuple[RunningAgent, ...] = ()
    """The oldest first."""
    costs: Mapping[TaskId, Decimal] = MappingProxyType({})
    """USD of each task's ended agents; a task without cost is missing."""


async def work_of(client: Client, session: SessionId) -> Work:
    """Return a session's work; without what does not answer now."""
    agents, costs = await asyncio.gather(_agents(client, session), _costs(client, session))
    return Work(agents, costs)


async def _costs(client: Client, session: SessionId) -> Mapping[TaskId, Decimal]:
    handle = client.get_workflow_handle(f"session/{session}")
    with suppress(WorkflowQueryFailedError, RPCError):
        answer = await handle.query("costs", result_type=TaskCosts, rpc_timeout=_QUERY)
        if isinstance(answer, TaskCosts):
            return answer.usd
    return {}


async def _agents(client: Client, session: SessionId) -> tuple[RunningAgent, ...]:
    query = (
        f'WorkflowType = "AgentWorkflow" AND WorkflowId STARTS_WITH "session/{session}/" '
        'AND ExecutionStatus = "Running"'
    )
    runs = [run async for run in client.list_workflows(query)]
    found = await asyncio.gather(*(_asked(client, run) for run in runs))
    return tuple(sorted((each for each in found if each), key=lambda agent: agent.since))


async def _asked(client: Client, run: WorkflowExecution) -> RunningAgent | None:
    handle = client.get_workflow_handle(run.id)
    with suppress(WorkflowQueryFailedError, RPCError):
        state = await handle.query("state", result_type=AgentState, rpc_timeout=_QUERY)
        if isinstance(state, AgentState):
            name = run.id.rpartition("/")[2]
            return RunningAgent(name, run.start_time, state.turn, state.bill.usd)
    return None
