"""The session's running waves and its ledger: child workflows that the session signals.

The session decides which wave starts and what its outcome means.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Literal, TypeVar

from pydantic import BaseModel
from temporalio import workflow
from temporalio.common import WorkflowIDReusePolicy
from temporalio.exceptions import (
    ApplicationError,
    ChildWorkflowError,
    WorkflowAlreadyStartedError,
)
from temporalio.types import MethodAsyncSingleParam

from workflows.agent_lifecycle import ChildHandle, failure_text, tell
from workflows.develop_wave import DevelopWave
from workflows.domain.budget import CapChanged, LedgerRequest
from workflows.domain.error_count import HoldsEnded
from workflows.domain.ids import SessionId, TaskId
from workflows.domain.session.session_start import SessionRequest
from workflows.domain.session.session_state import SessionState
from workflows.domain.session.wave_values import (
    DevelopRequest,
    MergeRequest,
    PlanRequest,
    PlanResult,
    TaskWord,
    ValidateRequest,
)
from workflows.domain.task import TaskState
from workflows.ledger import SessionLedger
from workflows.merge_wave import MergeWave
from workflows.plan_wave import PlanWave
from workflows.policy.agent.questions import PLAN
from workflows.policy.session.effects import Answer, Steer, TellWaves
from workflows.policy.session.scheduling import Running, StageStart
from workflows.policy.session.wave_outcomes import StageResult
from workflows.policy.session.wave_requests import StageRequest
from workflows.policy.text.log_events import log_event
from workflows.validate_wave import ValidateWave

_Wave = TypeVar("_Wave")
_Request = TypeVar("_Request", bound=BaseModel)
_Result = TypeVar("_Result")

_LEDGER_PATIENCE: Final = timedelta(minutes=1)
_HEARS = {
    "pause": frozenset({"plan", "develop", "validate"}),
    "resume": frozenset({"plan", "develop", "validate"}),
    "proceed": frozenset({"develop"}),
    "report": frozenset({"develop", "validate"}),
}
"""The stages that get each signal."""


@dataclass
class RunningWave:
    """One running wave."""

    stage: Literal["plan", "develop", "validate", "merge"]
    start: StageStart | None = None
    """What it works on; None for a plan wave."""
    task: asyncio.Task[None] | None = None
    """Runs the wave and takes up its result; None for a plan wave: the session awaits it."""
    handle: asyncio.Task[ChildHandle] | None = None
    """Starts the child; signals to the wave wait for it."""


class RunningWaves:
    """A session's waves by key: `<cycle>/<stage>`, or `plan/<number>`."""

    def __init__(self, session: SessionId) -> None:
        """Begin with none."""
        self._session = session
        self._waves: dict[str, RunningWave] = {}
        self._stopped_agents: set[tuple[str, TaskId]] = set()

    def __bool__(self) -> bool:
        """Whether any wave is running."""
        return bool(self._waves)

    def counts(self) -> Running:
        """Return how much of each stage is running."""
        counts = {"develop": 0, "validate": 0, "merge": 0}
        for start in (wave.start for wave in self._waves.values() if wave.start is not None):
            counts[start.stage] += len(start.tasks) or 1
        return Running(
            develop=counts["develop"], validation=counts["validate"], merge=counts["merge"]
        )

    # --- running them ------------------------------------------------------------------------

    async def plan(self, request: PlanRequest) -> PlanResult:
        """Run a plan wave to its end."""
        key = f"plan/{request.number}"
        self._waves[key] = RunningWave("plan")
        try:
            return await self._child(PlanWave.run, key, request, "plan the goal")
        finally:
            self._waves.pop(key)

    def begin(
        self,
        key: str,
        start: StageStart,
        request: StageRequest,
        take_up: Callable[[StageStart, Awaitable[StageResult]], Awaitable[None]],
    ) -> None:
        """Start a wave beside the others.

        Args:
            key: the wave's name, and the end of its workflow's id.
            start: what it works on.
            request: its request.
            take_up: waits for its result, and does what follows.
        """

        async def course() -> None:
            try:
                await take_up(start, self._stage(key, start, request))
            finally:
                self._waves.pop(key)

        wave = RunningWave(start.stage, start)
        self._waves[key] = wave
        wave.task = asyncio.create_task(course())

    async def cancel(self) -> None:
        """Cancel all waves, and wait until they have ended."""
        tasks = [wave.task for wave in self._waves.values() if wave.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _stage(self, key: str, start: StageStart, request: StageRequest) -> StageResult:
        subjects = ", ".join((*start.tasks, *start.changesets))
        summary = f"{start.stage}: {subjects}"
        match request:
            case DevelopRequest():
                return await self._child(DevelopWave.run, key, request, summary)
            case ValidateRequest():
                return await self._child(ValidateWave.run, key, request, summary)
            case MergeRequest():
                return await self._child(MergeWave.run, key, request, summary)

    async def _child(
        self,
        run: MethodAsyncSingleParam[_Wave, _Request, _Result],
        key: str,
        request: _Request,
        summary: str,
    ) -> _Result:
        starting = asyncio.create_task(
            workflow.start_child_workflow(
                run,
                request,
                id=f"session/{self._session}/{key}",
                static_summary=summary[:200],
                parent_close_policy=workflow.ParentClosePolicy.REQUEST_CANCEL,
            )
        )
        self._waves[key].handle = starting
        return await (await starting)

    # --- signals to them ---------------------------------------------------------------------

    async def say(self, effect: Steer | Answer) -> None:
        """Pass a person's words on to the wave of an agent; `plan` is the planner's task."""
        word = TaskWord(task=effect.task, text=effect.text)
        signal = "steer" if isinstance(effect, Steer) else "answer"
        for key, wave in sorted(self._waves.items()):
            is_planner = wave.stage == "plan" and word.task == PLAN
            is_developer = wave.stage == "develop" and wave.start is not None
            if is_planner or (is_developer and wave.start and word.task in wave.start.tasks):
                await self._tell(key, signal, word)

    async def tell(self, effect: TellWaves) -> None:
        """Signal every wave whose stage takes this signal."""
        for key in sorted(self._waves):
            wave = self._waves.get(key)  # it may have ended while another was signalled
            if wave is not None and wave.stage in _HEARS[effect.signal]:
                await self._tell(key, effect.signal)

    async def stop_void(self, state: SessionState) -> None:
        """Stop agents whose work is no longer wanted: task skipped, or its base moved away."""
        for key, wave in sorted(self._waves.items()):
            if wave.stage != "develop" or wave.start is None or wave.handle is None:
                continue
            for task in wave.start.tasks:
                now = state.records[task].state
                if now is not TaskState.DEVELOPING and (key, task) not in self._stopped_agents:
                    self._stopped_agents.add((key, task))
                    word = TaskWord(task=task, text=f"the task is now {now}")
                    await self._tell(key, "stop_task", word)

    async def _tell(self, key: str, signal: str, *words: BaseModel) -> None:
        wave = self._waves.get(key)
        if wave is None or wave.handle is None:
            return  # it ended while another was signalled
        starting = wave.handle
        await workflow.wait([starting])
        if not starting.cancelled() and starting.exception() is None:
            await tell(starting.result(), signal, *words)


# --- the ledger ------------------------------------------------------------------------------


async def start_ledger(request: SessionRequest) -> ChildHandle:
    """Start the session's ledger; it outlives a continuation of the session.

    Raises:
        ApplicationError: there was one before: the session was reset to before its start. Another
            ledger would allow the same money again.
    """
    ledger = LedgerRequest(
        session_workflow=workflow.info().workflow_id,
        caps=request.config.budget,
        auto_pause_percent=request.config.auto_pause_percent,
    )
    try:
        return await workflow.start_child_workflow(
            SessionLedger.run,
            ledger,
            id=request.ledger_id,
            id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
            static_summary="grants and spend",
            parent_close_policy=workflow.ParentClosePolicy.ABANDON,
        )
    except WorkflowAlreadyStartedError as error:
        text = (
            "the session was reset to its beginning, where its ledger is started, and another "
            "ledger would spend the budget again. Reset it to a later point, or start another"
        )
        raise ApplicationError(text, type="LedgerExists", non_retryable=True) from error


async def ledger_lost(ledger: ChildHandle) -> ApplicationError | None:
    """Wait for the ledger's end; return why the session cannot go on if it was ended by hand.

    An agent that waits for a grant would wait for ever, and no other call could be paid.
    """
    try:
        await ledger
    except ChildWorkflowError as error:
        text = (
            f"the session's ledger is gone: {failure_text(error)}. Without it no call can be paid; "
            "start another session, the merged work stays"
        )
        return ApplicationError(text, type="LedgerLost", non_retryable=True)
    return None


async def set_cap(ledger_id: str, changed: CapChanged) -> None:
    """Tell the ledger a new cap; one that is gone is reported by `ledger_lost`."""
    with contextlib.suppress(ApplicationError):
        await workflow.get_external_workflow_handle(ledger_id).signal("set_cap", changed)


async def end_holds(ledger_id: str, ended: HoldsEnded) -> None:
    """Tell the ledger that a person resumed; one that is gone is reported by `ledger_lost`."""
    with contextlib.suppress(ApplicationError):
        await workflow.get_external_workflow_handle(ledger_id).signal("end_holds", ended)


async def finish_ledger(ledger_id: str, has_closed: Callable[[], bool]) -> None:
    """Tell the ledger that the session ends, and wait up to a minute for its last figure.

    Args:
        ledger_id: its workflow id.
        has_closed: says whether the figure has arrived.
    """
    try:
        await workflow.get_external_workflow_handle(ledger_id).signal("finish")
        await workflow.wait_condition(has_closed, timeout=_LEDGER_PATIENCE)
    except ApplicationError as gone:
        log_event(workflow.logger, "ledger_gone", what="the session", reason=gone)
    except TimeoutError:
        log_event(workflow.logger, "ledger_silent")
