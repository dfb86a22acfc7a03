"""Schedules as the command line sees them: Temporal's own, one for each name.

Temporal keeps them beside the sessions and fires them; a process of Blue Flame need not run then,
but a worker has to answer within `CATCH_UP`, or that time is left out.
"""

from collections.abc import AsyncIterator
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import TYPE_CHECKING, Final, Literal

from pydantic import BaseModel, ValidationError
from temporalio.client import (
    Client,
    Schedule,
    ScheduleActionExecutionStartWorkflow,
    ScheduleActionStartWorkflow,
    ScheduleAlreadyRunningError,
    ScheduleDescription,
    ScheduleHandle,
    ScheduleOverlapPolicy,
    SchedulePolicy,
    ScheduleSpec,
    ScheduleState,
    WorkflowExecutionStatus,
)
from temporalio.service import RPCError, RPCStatusCode

from starter.console.command_errors import CommandError
from starter.console.exit_codes import ExitCode
from workers.temporal.temporal_errors import PayloadUnreadableError
from workflows import queues
from workflows.domain.ids import SessionId
from workflows.domain.session.scheduled_goal import CATCH_UP, ScheduledGoal, ScheduledOutcome

if TYPE_CHECKING:
    from collections.abc import Generator

WORKFLOW: Final = "ScheduledRun"
PREFIX: Final = "schedule/"
_MOST_BYTES: Final = 100_000
"""Of a goal: a larger one would be kept as a blob, which a clean-up removes."""


class ShownSchedule(BaseModel, frozen=True, extra="forbid"):
    """One schedule, as `schedule list` shows it."""

    name: str
    cron: str
    time_zone: str
    goal: str
    repository: str
    paused: bool
    next_at: datetime | None
    """None while it is paused."""
    last_at: datetime | None
    """When it last fired; None: not yet."""
    last: Literal["", "running", "started", "queued", "skipped", "refused"] = ""
    """What became of that; `running`: not known yet. Empty if it has not fired, or its history is
    gone."""
    last_session: SessionId | None = None
    last_reason: str = ""
    skipped_overlaps: int
    """How often it did not fire because its last firing had not ended."""


class Schedules:
    """The schedules of one namespace."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def add(self, goal: ScheduledGoal, cron: str, time_zone: str) -> None:
        """Add a schedule.

        Args:
            goal: what it starts a session for.
            cron: five fields, or `@daily` and the like.
            time_zone: such as `Europe/Berlin`, in which `cron` is meant.

        Raises:
            CommandError: the name is taken, the goal is too long to be kept with a schedule, or
                the server refuses cron or time zone.
        """
        if (size := len(goal.model_dump_json().encode())) > _MOST_BYTES:
            text = (
                f"the goal of a schedule may have {_MOST_BYTES:,} bytes, not {size:,}; shorten it"
            )
            raise CommandError(text)
        spec = ScheduleSpec(cron_expressions=[cron], time_zone_name=time_zone)
        policy = SchedulePolicy(overlap=ScheduleOverlapPolicy.SKIP, catchup_window=CATCH_UP)
        action = ScheduleActionStartWorkflow(
            WORKFLOW,
            goal,
            id=f"{PREFIX}{goal.name}",
            task_queue=queues.WORKFLOWS,
            static_summary=f"schedule {goal.name}",
        )
        # A note of what was typed: the server keeps cron expressions as tables of numbers.
        memo = {"cron": cron, "time_zone": time_zone, "goal": goal.goal[:200]}
        memo |= {"repository": goal.repository}
        schedule = Schedule(action=action, spec=spec, policy=policy, state=ScheduleState())
        try:
            await self._client.create_schedule(f"{PREFIX}{goal.name}", schedule, memo=memo)
        except ScheduleAlreadyRunningError:
            raise CommandError(
                f"schedule {goal.name!r} is there already; `schedule remove {goal.name}` first",
                ExitCode.STALE,
            ) from None
        except RPCError as error:
            if error.status is not RPCStatusCode.INVALID_ARGUMENT:
                raise
            raise CommandError(
                f"--cron {cron!r} in {time_zone!r}: {error.message}; an example is '0 2 * * 1-5'"
            ) from error

    async def list(self) -> list[ShownSchedule]:
        """Return all schedules, by name."""
        names = [name async for name in self._names()]
        return [await self.show(name) for name in sorted(names)]

    async def show(self, name: str) -> ShownSchedule:
        """Return one schedule.

        Raises:
            CommandError: it does not exist.
        """
        with _existing(name):
            found = await self._handle(name).describe()
        memo = await found.memo()
        last = found.info.recent_actions[-1] if found.info.recent_actions else None
        outcome = None
        if last is not None and isinstance(last.action, ScheduleActionExecutionStartWorkflow):
            outcome = await self._outcome(last.action)
        return ShownSchedule(
            name=name,
            cron=str(memo.get("cron", "")),
            time_zone=str(memo.get("time_zone", "")),
            goal=str(memo.get("goal", "")),
            repository=str(memo.get("repository", "")),
            paused=found.schedule.state.paused,
            next_at=_next(found),
            last_at=last.started_at if last else None,
            last=outcome.kind if outcome else "running" if found.info.running_actions else "",
            last_session=outcome.session if outcome else None,
            last_reason=outcome.reason if outcome else "",
            skipped_overlaps=found.info.num_actions_skipped_overlap,
        )

    async def trigger(self, name: str) -> None:
        """Let a schedule fire now.

        Raises:
            CommandError: it does not exist, or its session is still open.
        """
        shown = await self.show(name)
        if shown.last == "running" or await self._is_open(shown.last_session):
            which = f"session {shown.last_session!r}" if shown.last_session else "its last firing"
            text = f"schedule {name!r} did not fire: {which} is still open"
            raise CommandError(text, ExitCode.STALE)
        with _existing(name):
            await self._handle(name).trigger(overlap=ScheduleOverlapPolicy.SKIP)

    async def pause(self, name: str) -> None:
        """Let a schedule fire no more until it is resumed."""
        with _existing(name):
            await self._handle(name).pause()

    async def resume(self, name: str) -> None:
        """Let a paused schedule fire again."""
        with _existing(name):
            await self._handle(name).unpause()

    async def remove(self, name: str) -> None:
        """Remove a schedule; a session that it started continues."""
        with _existing(name):
            await self._handle(name).delete()

    def _handle(self, name: str) -> ScheduleHandle:
        return self._client.get_schedule_handle(f"{PREFIX}{name}")

    async def _names(self) -> AsyncIterator[str]:
        async for each in await self._client.list_schedules():
            if each.id.startswith(PREFIX):
                yield each.id.removeprefix(PREFIX)

    async def _is_open(self, session: SessionId | None) -> bool:
        if session is None:
            return False
        with suppress(RPCError):  # gone: it has ended
            found = await self._client.get_workflow_handle(f"session/{session}").describe()
            return found.status is WorkflowExecutionStatus.RUNNING
        return False

    async def _outcome(
        self, started: ScheduleActionExecutionStartWorkflow
    ) -> ScheduledOutcome | None:
        """Return what a firing noted in its memo; None if it has noted nothing, or is gone."""
        handle = self._client.get_workflow_handle(
            started.workflow_id, run_id=started.first_execution_run_id
        )
        with suppress(RPCError, ValidationError, PayloadUnreadableError):
            memo = await (await handle.describe()).memo()
            return ScheduledOutcome.model_validate(memo.get("outcome"))
        return None


def _next(found: ScheduleDescription) -> datetime | None:
    times = found.info.next_action_times
    return None if found.schedule.state.paused or not times else times[0]


@contextmanager
def _existing(name: str) -> "Generator[None]":
    try:
        yield
    except RPCError as error:
        if error.status is not RPCStatusCode.NOT_FOUND:
            raise
        raise CommandError(f"there is no schedule {name!r}; `schedule list` lists them") from error
