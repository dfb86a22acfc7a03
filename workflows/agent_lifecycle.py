"""How waves start, name, signal and end agents.

An agent's worktree is prepared before the agent and removed after it; checkpoints stay as refs.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Generic, TypeVar

from pydantic import BaseModel
from temporalio import workflow
from temporalio.exceptions import (
    ActivityError,
    ApplicationError,
    CancelledError,
    ChildWorkflowError,
    FailureError,
    TerminatedError,
    is_cancelled_exception,
)

from workflows.agent import AgentWorkflow
from workflows.cancellation import end_if_cancelled, is_cancelled
from workflows.contracts.host_contracts import (
    PREPARE_WORKTREE,
    REMOVE_WORKTREE,
    PrepareWorktree,
    RemoveWorktree,
    time_to_prepare,
)
from workflows.domain.agent.agent_values import AgentLimits, AgentOutcome, AgentRequest, WorktreeRef
from workflows.domain.agent.model_values import ModelFacts, Role
from workflows.domain.budget import AccountClosed
from workflows.domain.ids import AgentId, Commit, SessionId
from workflows.domain.session.wave_values import (
    Developed,
    Grounds,
    ItemReport,
    NotDeveloped,
    Refused,
    Validated,
    Waits,
)
from workflows.errors import FailureType
from workflows.policy.commands.protection import gate_files
from workflows.policy.text.log_events import log_event

_T = TypeVar("_T")
_Item = TypeVar("_Item", bound=Developed | NotDeveloped | Waits | Validated | Refused)
ChildHandle = workflow.ChildWorkflowHandle[Any, Any]
AgentHandle = workflow.ChildWorkflowHandle[AgentWorkflow, AgentOutcome]


@dataclass(frozen=True)
class AgentOrder:
    """One agent to start."""

    agent: AgentId
    role: Role
    route: tuple[ModelFacts, ...]
    opening: str
    start: Commit
    limits: AgentLimits
    claims: tuple[str, ...] = ()
    steers: tuple[str, ...] = ()

    def worktree(self, grounds: Grounds) -> WorktreeRef:
        """Name the agent's worktree: only developers may write theirs."""
        return WorktreeRef(
            session=grounds.session,
            agent=self.agent,
            repository=grounds.key,
            writable=self.role is Role.DEVELOPER,
            environment=grounds.environment,
        )


async def start_agent(grounds: Grounds, order: AgentOrder, summary: str) -> AgentHandle:
    """Prepare an agent's worktree and start the agent as a child of this wave.

    A worktree that is only read and needs no set-up is made by the first tool that looks at it,
    because many reviewers judge by the diff alone.

    Raises:
        ActivityError: the worktree could not be prepared.
        CancelledError: the wave was cancelled.
    """
    worktree = order.worktree(grounds)
    checkpoint = order.start
    if _is_made_ahead(grounds, worktree):
        checkpoint = await prepare_worktree(grounds, order)
    request = AgentRequest(
        session=grounds.session,
        agent=order.agent,
        role=order.role,
        route=order.route,
        opening=order.opening,
        steers=order.steers,
        worktree=worktree,
        checkpoint=checkpoint,
        host_queue=grounds.host_queue,
        ledger=grounds.ledger,
        claims=order.claims,
        policy=grounds.policy,
        gate_files=gate_files(grounds.gates),
        limits=order.limits,
        auto_pause_percent=grounds.auto_pause_percent,
        command_timeout=min(grounds.command_timeout, order.limits.wall, timedelta(minutes=55)),
    )
    end_if_cancelled()
    return await workflow.start_child_workflow(
        AgentWorkflow.run,
        request,
        id=f"{workflow.info().workflow_id}/{order.agent}",
        static_summary=summary[:200],
        parent_close_policy=workflow.ParentClosePolicy.REQUEST_CANCEL,
    )


async def prepare_worktree(
    grounds: Grounds, order: AgentOrder, *, with_setup: bool = True
) -> Commit:
    """Make an agent's worktree, and return where it stands.

    Raises:
        ActivityError: it could not be prepared.
    """
    prepare = PrepareWorktree(
        worktree=order.worktree(grounds),
        start=order.start,
        setup=grounds.worktree.setup if with_setup else (),
        network=grounds.worktree.network,
        setup_timeout=grounds.worktree.setup_timeout,
        copied=grounds.copied if with_setup else (),
    )
    ready = await PREPARE_WORKTREE.ask(
        prepare,
        f"worktree for {order.agent}",
        queue=grounds.host_queue,
        start_to_close=time_to_prepare(prepare.setup, prepare.setup_timeout),
    )
    return ready.checkpoint


def _is_made_ahead(grounds: Grounds, worktree: WorktreeRef) -> bool:
    return worktree.writable or bool(grounds.worktree.setup or grounds.copied)


async def remove_worktree(grounds: Grounds, order: AgentOrder, outcome: AgentOutcome) -> None:
    """Remove an ended agent's worktree, unless no tool of the agent ever made one.

    A failure is logged and left to the clean-up.
    """
    worktree = order.worktree(grounds)
    if not (_is_made_ahead(grounds, worktree) or outcome.has_used_tools):
        return
    request = RemoveWorktree(worktree=worktree)
    try:
        await REMOVE_WORKTREE.ask(
            request, f"remove the worktree of {order.agent}", queue=grounds.host_queue
        )
    except ActivityError as error:
        if is_cancelled():
            raise
        log_event(workflow.logger, "worktree_left", agent=order.agent, reason=error.cause)


async def give_up_account(grounds: Grounds, agent: AgentId) -> None:
    """Close a lost agent's account: what it was granted counts as spent."""
    closed = AccountClosed(agent=agent, settled_usd=None)
    ledger = workflow.get_external_workflow_handle(grounds.ledger)
    with contextlib.suppress(ApplicationError):  # the session has ended already
        await ledger.signal("close_account", closed)


def failure_text(error: FailureError) -> str:
    """Return what went wrong in one line: the first message that was written for a person.

    Where no message was written (a time-out, an internal error), the line also names the activity.
    """
    cause: BaseException = error
    while cause.__cause__ is not None and not isinstance(cause, ApplicationError):
        cause = cause.__cause__
    if isinstance(error, ChildWorkflowError) and isinstance(
        cause, TerminatedError | CancelledError
    ):
        how = "terminated" if isinstance(cause, TerminatedError) else "cancelled"
        return f"its workflow was {how} by hand, through Temporal"
    text = cause.message if isinstance(cause, ApplicationError) else str(cause)
    is_chosen = isinstance(cause, ApplicationError) and cause.type in frozenset(FailureType)
    if is_chosen or not isinstance(error, ActivityError):
        return text[:1_000]
    return f"{text[:900]} (in the activity {error.activity_type!r})"


async def all_done(work: Iterable[Coroutine[object, object, _T]]) -> tuple[_T, ...]:
    """Do all of a wave's work; the wave ends only after its signals are taken up.

    If cancelled, wait for every part. Otherwise the first part to end would end the wave, and the
    session would not learn what the other parts cost.
    """
    parts = [asyncio.create_task(each) for each in work]
    try:
        return tuple(await asyncio.gather(*parts))
    except BaseException as error:
        if is_cancelled_exception(error):
            await workflow.wait_condition(lambda: all(part.done() for part in parts))
        raise
    finally:
        await workflow.wait_condition(workflow.all_handlers_finished)


class Results(Generic[_Item]):
    """A wave's finished items: kept for its result or, once asked, told to the session at once.

    The session asks when an agent holds until a person acts: the work of the others does not wait.
    """

    def __init__(self, session: SessionId) -> None:
        self._session = session
        self._is_reporting = False
        self._kept: list[_Item] = []

    async def add(self, item: _Item) -> None:
        """Take one finished item."""
        self._kept.append(item)
        if self._is_reporting:
            await self.report()

    async def report(self) -> None:
        """Tell the session what has finished, and from now on each item as it finishes."""
        self._is_reporting = True
        session = workflow.get_external_workflow_handle(f"session/{self._session}")
        while self._kept:
            item = self._kept.pop(0)
            await session.signal("item_reported", ItemReport(item=item))

    def kept(self) -> tuple[_Item, ...]:
        """Return what the session was not told, in the order of finishing."""
        return tuple(self._kept)


async def tell(handle: ChildHandle, signal: str, *words: BaseModel | str) -> bool:
    """Signal a child; return False if it has ended, so the signal was not delivered."""
    try:
        await handle.signal(signal, args=words)
    except ApplicationError as gone:
        log_event(
            workflow.logger, "signal_undelivered", signal=signal, workflow=handle.id, reason=gone
        )
        return False
    return True


class Agents:
    """The running agents of a wave, and the signals to them, which go out one after another.

    Signals under way at the same time may arrive in any order, and an agent that gets a `resume`
    before its `pause` would hold for ever.
    """

    def __init__(self) -> None:
        self.is_paused = False
        """Whether to start no further agent."""
        self._handles: dict[str, AgentHandle] = {}
        self._telling = asyncio.Lock()

    async def pause(self) -> None:
        """Hold every agent at its turn boundary."""
        self.is_paused = True
        await self._tell_all("pause")

    async def resume(self) -> None:
        """Let every agent continue."""
        self.is_paused = False
        await self._tell_all("resume")

    async def tell(self, name: str, signal: str, word: str) -> bool:
        """Signal one agent; return False if it does not run, so the signal was not delivered."""
        async with self._telling:
            handle = self._handles.get(name)
            return handle is not None and await tell(handle, signal, word)

    async def attend(
        self,
        name: str,
        handle: AgentHandle,
        greet: Callable[[], Awaitable[None]] | None = None,
    ) -> AgentOutcome:
        """Wait for an agent's end, and pass on the signals to it until then.

        Args:
            name: the name that callers of `tell` use.
            handle: the handle of an agent that has just started.
            greet: sends what was said while the agent started, before any other signal.
        """
        with contextlib.suppress(asyncio.CancelledError):
            await self._meet(name, handle, greet)
        try:
            if is_cancelled():
                handle.cancel()  # arrived while the agent was being signalled
            return await handle
        finally:
            self._handles.pop(name, None)

    async def _meet(
        self,
        name: str,
        handle: AgentHandle,
        greet: Callable[[], Awaitable[None]] | None,
    ) -> None:
        async with self._telling:
            self._handles[name] = handle
            if greet is not None:
                await greet()
            if self.is_paused:
                await tell(handle, "pause")

    async def _tell_all(self, signal: str) -> None:
        async with self._telling:
            for _, handle in sorted(self._handles.items()):
                await tell(handle, signal)
