"""Sessions as the CLI sees them: started, found, queried and signalled over Temporal.

Running sessions are queried. Sessions that have ended, or have no worker to answer, are read from
the workflow's memo and result. Nothing is rendered here.
"""

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, timedelta
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

from pydantic import ValidationError
from temporalio.client import (
    Client,
    WorkflowExecution,
    WorkflowExecutionDescription,
    WorkflowExecutionStatus,
    WorkflowFailureError,
    WorkflowHandle,
    WorkflowQueryFailedError,
)
from temporalio.exceptions import FailureError
from temporalio.service import RPCError, RPCStatusCode

from starter.console.command_errors import CommandError
from starter.console.exit_codes import ExitCode
from starter.sessions.ended_session import ended
from starter.sessions.sent_decisions import GONE, execute
from starter.sessions.short_ids import fits, make_id, too_short
from starter.sessions.shown_session import ProviderWait, SessionSummary, ShownSession
from starter.sessions.worker_presence import serves, why_unanswered
from workers.temporal.temporal_errors import PayloadUnreadableError
from workers.versions.deployment import build_of_listed, builds_at_work
from workflows import queues
from workflows.domain.ids import SessionId
from workflows.domain.plan import Plan
from workflows.domain.session.decision import DecisionOutcome
from workflows.domain.session.query_answers import SessionResult, SessionView
from workflows.domain.session.session_modes import Pacing, SessionPhase
from workflows.domain.task import TaskRecord

if TYPE_CHECKING:  # what reads histories or starts sessions imports much, which takes long
    from starter.sessions.running_agents import Work
    from starter.sessions.turn_history import Turns
    from workers.telemetry.session_record import SessionRecord
    from workers.telemetry.traces.span_values import Trace
    from workflows.domain.agent.agent_settings import AgentSettings
    from workflows.domain.session.session_start import SessionRequest

WORKFLOW: Final = "SessionWorkflow"
PREFIX: Final = "session/"
_QUERY: Final = timedelta(seconds=4)
"""Without a worker a query would wait for 30 s."""
_BUSY_QUERY: Final = timedelta(seconds=15)
"""How much longer to wait for a worker that exists, on a busy machine."""
_UNANSWERED: Final = {RPCStatusCode.CANCELLED, RPCStatusCode.DEADLINE_EXCEEDED}
_GLANCE_SECONDS: Final = 2.0
"""The most time that a list waits for the sessions that it shows."""


class Chosen(NamedTuple):
    """The session that a command works on."""

    session: SessionId
    open_sessions: int = 1
    """How many open sessions match; it is the latest of them."""


class Sessions:
    """The sessions of one namespace."""

    PASSING: ClassVar = frozenset(
        {
            RPCStatusCode.UNAVAILABLE,
            RPCStatusCode.DEADLINE_EXCEEDED,
            RPCStatusCode.CANCELLED,
            RPCStatusCode.RESOURCE_EXHAUSTED,
        }
    )
    """Failures of the server that pass by themselves."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def start(self, request: "SessionRequest") -> None:
        """Start a session's workflow."""
        await self._client.start_workflow(
            WORKFLOW,
            request,
            id=request.workflow_id,
            task_queue=queues.WORKFLOWS,
            task_timeout=request.task_timeout,
            memo=request.memo,
            static_summary=request.summary,
        )

    async def list(self, limit: int, *, is_open: bool = False) -> list[SessionSummary]:
        """Return the newest sessions, or the newest open ones; the newest first."""
        query = f'WorkflowType="{WORKFLOW}"' + ' AND ExecutionStatus="Running"' * is_open
        at_work = await builds_at_work(self._client)
        runs = [run async for run in self._client.list_workflows(query, limit=limit)]
        found = await asyncio.gather(*(_summary(run, at_work) for run in runs))
        return sorted(found, key=lambda s: s.session, reverse=True)

    async def find(self, wanted: str | None, *, acts: bool = False) -> Chosen:
        """Return the chosen session: by id, or the latest open one, or the latest.

        Args:
            wanted: an id, or at least four characters of its beginning or end that match no other;
                None: not named.
            acts: without a name, accept only the one open session.

        Raises:
            CommandError: there is none, none is open, or several match.
        """
        if wanted is not None and len(wanted) == len(make_id()):
            return Chosen(SessionId(wanted.lower()))
        sessions = await self.list(limit=1_000, is_open=True) if wanted is None else []
        sessions = sessions or await self.list(limit=1_000)
        fitting = [s for s in sessions if wanted is None or fits(s.session, wanted)]
        if not sessions:
            raise CommandError("there is no session yet; `run GOAL` starts one")
        if wanted is not None and not fitting:
            raise CommandError(f"no session matches {wanted!r}{too_short(wanted)}; `ls` lists them")
        if wanted is not None and len(fitting) > 1:
            raise CommandError(f"several sessions match {wanted!r}; give more of the id")
        running = [s for s in fitting if s.status == "running"]
        if acts and len(running) > 1:
            listed = "\n".join(f"  {s.session}  {s.goal[:60]}" for s in running[:20])
            raise CommandError(f"{len(running)} sessions are open; name one of them:\n{listed}")
        if acts and wanted is None and not running:
            raise CommandError("no session is open; `ls` lists those that ended", ExitCode.STALE)
        return Chosen((running or fitting)[0].session, len(running))

    async def view(self, session: SessionId) -> ShownSession:
        """Return a session's whole view, whether a worker answers or not.

        Raises:
            CommandError: there is no such session.
        """
        description = await self._describe(session)
        if description.status is WorkflowExecutionStatus.RUNNING:
            view = await self._query(session)
            if view is not None:
                return ShownSession.model_validate({**dict(view), "live": True})
        return await self._from_memo(session, description)

    async def glance(self, wanted: Iterable[SessionId]) -> dict[SessionId, ShownSession]:
        """Return the views of those sessions that answer within a moment."""
        looks = {each: asyncio.create_task(self.view(each)) for each in wanted}
        if looks:
            await asyncio.wait(looks.values(), timeout=_GLANCE_SECONDS)
        for look in looks.values():
            look.cancel()
        seen = await asyncio.gather(*looks.values(), return_exceptions=True)
        # A list also shows sessions that cannot be read; `status` says why.
        found = zip(looks, seen, strict=True)
        return {each: view for each, view in found if isinstance(view, ShownSession)}

    async def waits(self, session: SessionId) -> tuple[ProviderWait, ...]:
        """Return the session's calls that wait for their provider now."""
        from starter.sessions.provider_waits import provider_waits

        return await provider_waits(self._client, session)

    async def work(self, session: SessionId) -> "Work":
        """Return who works on the session now, and what its tasks have cost."""
        from starter.sessions.running_agents import work_of

        return await work_of(self._client, session)

    async def task(self, session: SessionId, task: str) -> TaskRecord | None:
        """Return one task in full; None if no worker answers or the task does not exist."""
        with suppress(WorkflowQueryFailedError, RPCError):
            answer = await self._ask(session, "task", task)
            # For a task that does not exist the answer is a sentence.
            return None if isinstance(answer, str) else TaskRecord.model_validate(answer)
        return None

    async def plan(self, session: SessionId) -> Plan | None:
        """Return the plan in full; None while there is none.

        Raises:
            CommandError: no worker answers.
        """
        answer = await self._answer(session, "plan")
        return None if answer is None else Plan.model_validate(answer)

    async def agents(self, session: SessionId) -> "AgentSettings":
        """Return the limits of the session's agents.

        Raises:
            CommandError: no worker answers.
        """
        from workflows.domain.agent.agent_settings import AgentSettings

        return AgentSettings.model_validate(await self._answer(session, "agents"))

    async def signal(self, session: SessionId, name: str, content: object) -> None:
        """Send a signal with one JSON object: a model of `decision_inputs`, or a mapping.

        Raises:
            CommandError: the session has ended, or does not exist.
        """
        try:
            await self._handle(session).signal(name, content)
        except RPCError as error:
            if error.status in GONE:
                raise CommandError(
                    f"session {session!r} has ended or does not exist; nothing was sent",
                    ExitCode.STALE,
                ) from error
            raise

    async def decide(self, session: SessionId, name: str, content: object) -> DecisionOutcome:
        """Send a decision as an Update and return its outcome; see `sent_decisions.execute`."""
        return await execute(self._handle(session), name, content)

    async def result(self, session: SessionId) -> SessionResult | str:
        """Return how a closed session ended; if it left no result, why not."""
        handle = self._client.get_workflow_handle(f"{PREFIX}{session}", result_type=SessionResult)
        try:
            return await handle.result(rpc_timeout=_BUSY_QUERY)
        except WorkflowFailureError as error:
            # The message only: as text, the error would begin with its type.
            return error.cause.message if isinstance(error.cause, FailureError) else str(error)
        except ValidationError:
            return "its result is of another version of this program"

    def turns(self, session: SessionId, wanted: str | None) -> "Turns":
        """Return the turns of a session's agents; `wanted`: a task or an agent, None: all."""
        from starter.sessions.turn_history import Turns

        return Turns(self._client, session, wanted)

    async def trace(self, session: SessionId) -> "Trace":
        """Return the session as a trace, from its histories; no worker is needed."""
        from workers.telemetry.traces.session_trace import read_trace

        return await read_trace(self._client, session)

    async def record(self, session: SessionId) -> "SessionRecord":
        """Return what the session's waves found, from their histories; no worker is needed."""
        from workers.telemetry.session_record import read_record

        return await read_record(self._client, session)

    async def is_open(self, session: SessionId) -> bool:
        """Tell whether a session still runs."""
        return (await self._describe(session)).status is WorkflowExecutionStatus.RUNNING

    def _handle(self, session: SessionId) -> WorkflowHandle[object, object]:
        return self._client.get_workflow_handle(f"{PREFIX}{session}")

    async def _describe(self, session: SessionId) -> WorkflowExecutionDescription:
        try:
            return await self._handle(session).describe()
        except RPCError as error:
            if error.status in GONE:
                raise CommandError(f"there is no session {session!r}; `ls` lists them") from error
            raise

    async def _answer(self, session: SessionId, query: str) -> object:
        try:
            return await self._ask(session, query)
        except (WorkflowQueryFailedError, RPCError) as error:
            raise CommandError(
                f"no worker answers for session {session!r}; `up --detach` starts one",
                ExitCode.UNAVAILABLE,
            ) from error

    async def _query(self, session: SessionId) -> SessionView | None:
        try:
            view = await self._ask(session, "state", result_type=SessionView)
        except (WorkflowQueryFailedError, RPCError):
            return None
        return view if isinstance(view, SessionView) else None

    async def _ask(
        self, session: SessionId, query: str, *arguments: str, result_type: type | None = None
    ) -> object:
        """Query a session's worker; wait longer for one that exists.

        Raises:
            WorkflowQueryFailedError: the session has no answer.
            RPCError: no worker answers, or the server does not.
        """
        asked = partial(self._handle(session).query, query, args=arguments, result_type=result_type)
        try:
            return await asked(rpc_timeout=_QUERY)
        except RPCError as error:
            if error.status not in _UNANSWERED or not await serves(
                self._client, f"{PREFIX}{session}"
            ):
                raise
        return await asked(rpc_timeout=_BUSY_QUERY)

    async def _from_memo(
        self, session: SessionId, description: WorkflowExecutionDescription
    ) -> ShownSession:
        memo = await description.memo()
        known = _remembered(session, description, memo)
        if description.status is WorkflowExecutionStatus.RUNNING:
            workflow = f"{PREFIX}{session}"
            reason = await why_unanswered(self._client, workflow, scripted=known.scripted)
            return ShownSession.model_validate({**dict(known), "reason": reason, "live": False})
        result = await self.result(session)
        if isinstance(result, str) and known.phase is not SessionPhase.ENDED:
            # It could not save its last view; if a worker answers, its history still has it.
            known = await self._query(session) or known
        return ended(known, result)


def _remembered(
    session: SessionId, description: WorkflowExecutionDescription, memo: Mapping[str, object]
) -> SessionView:
    with suppress(ValidationError):
        # The last view that the session itself saved.
        return SessionView.model_validate(memo.get("view"))
    return SessionView(
        session=session,
        goal=str(memo.get("goal", "")),
        phase=SessionPhase.PREPARING,
        pacing=Pacing.WAVE,
        cycle=0,
        repository=str(memo.get("repository", "")),
        branch=None,
        base=None,
        head=None,
        sandbox="",
        scripted=False,
        spent_usd=Decimal(0),
        cap_usd=Decimal(0),
        tasks=(),
        changesets=(),
        notices=(),
        started_at=description.start_time,
    )


async def _summary(execution: WorkflowExecution, at_work: frozenset[str]) -> SessionSummary:
    try:
        # Not the whole memo: the view in it is long, and this list may be.
        goal = await execution.memo_value("goal", "")
        repository = await execution.memo_value("repository", "")
    except PayloadUnreadableError as error:
        goal, repository = f"({error})", ""
    status = execution.status.name.lower() if execution.status else "unknown"
    build = build_of_listed(execution) if status == "running" else ""
    return SessionSummary(
        session=SessionId(execution.id.removeprefix(PREFIX)),
        goal=str(goal),
        repository=str(repository),
        status=status,
        state="open" if status == "running" else status,
        notice=f"no worker of build {build}" if build and build not in at_work else "",
        started_at=execution.start_time.astimezone(UTC),
        closed_at=execution.close_time.astimezone(UTC) if execution.close_time else None,
    )
