"""A session without agents: it asks for the plan and for one changeset, and ends.

After `pause`, an approved changeset stays in the queue until `proceed`.
"""

from collections.abc import Sequence
from decimal import Decimal

from pydantic import JsonValue
from temporalio import workflow
from temporalio.common import RawValue

with workflow.unsafe.imports_passed_through():
    from workflows.domain.agent.agent_settings import AgentSettings
    from workflows.domain.ids import ChangesetId, Commit, Digest, TaskId
    from workflows.domain.plan import Plan, Task
    from workflows.domain.session.decision import DecisionOutcome
    from workflows.domain.session.query_answers import (
        ChangesetLine,
        SessionResult,
        SessionView,
        TaskLine,
    )
    from workflows.domain.session.session_modes import SessionPhase
    from workflows.domain.session.session_start import SessionRequest
    from workflows.domain.task import TaskRecord, TaskState

TITLE = "[/red] [link=x]y[/link] \u001b[2J \u2713 <script> | `x`"

_TASK = Task(id=TaskId("t1"), title=TITLE, acceptance_criteria=("it works",), claims=("src",))


@workflow.defn(name="SessionWorkflow")
class FakeSession:
    """Signals, Updates and queries as the real one; each decision is kept as it came."""

    @workflow.init
    def __init__(self, request: SessionRequest) -> None:
        self.request = request
        self.phase = SessionPhase.AWAITING_PLAN
        self.changeset = "collecting"
        self.digest = "0" * 64
        self.signals: list[tuple[str, JsonValue]] = []
        self.stopped = False
        self.holds = False

    @workflow.run
    async def run(self, request: SessionRequest) -> SessionResult:
        approvals = request.config.approvals
        if approvals.plan == "ask":
            await workflow.wait_condition(
                lambda: self.phase is not SessionPhase.AWAITING_PLAN or self.stopped
            )
        self.phase = SessionPhase.RUNNING
        if approvals.changeset == "ask":
            self.changeset = "awaiting_approval"
        else:
            self.changeset = "merged"
        await workflow.wait_condition(lambda: self.changeset == "merged" or self.stopped)
        return SessionResult(
            outcome="stopped" if self.stopped else "complete",
            reason="a person said so" if self.stopped else "",
            branch=f"blueflame/{request.session}",
            head=Commit("1" * 40),
            spent_usd=Decimal("0.1234"),
            tasks=self._tasks(),
            scripted=True,
        )

    @workflow.update(dynamic=True)
    async def any_update(self, name: str, args: Sequence[RawValue]) -> DecisionOutcome:
        self.any_signal(name, args)
        return DecisionOutcome(decision=name, state=str(self.phase))

    @workflow.signal(dynamic=True)
    def any_signal(self, name: str, args: Sequence[RawValue]) -> None:
        payload: JsonValue = workflow.payload_converter().from_payload(args[0].payload)
        self.signals.append((name, payload))
        match name:
            case "approve_plan" | "replace_plan" | "edit_plan":
                self.phase = SessionPhase.RUNNING
            case "approve_changeset":
                self.changeset = "queued" if self.holds else "merged"
            case "pause":
                self.holds = True
            case "proceed":
                self.changeset = "merged"
            case "reject_changeset":
                self.digest = "f" * 64
            case "stop":
                self.stopped = True
            case _:
                pass

    @workflow.query
    def state(self) -> SessionView:
        lines = [
            ChangesetLine(
                id=ChangesetId("c1"),
                state=self.changeset,
                digest=Digest(self.digest),
                tasks=(TaskId("t1"),),
            )
        ]
        return SessionView(
            session=self.request.session,
            goal=self.request.goal[:200],
            phase=self.phase,
            pacing=self.request.config.pacing,
            cycle=1,
            repository=self.request.repository,
            branch=None,
            base=None,
            head=None,
            sandbox="none",
            scripted=True,
            spent_usd=Decimal("0.1234"),
            cap_usd=Decimal(10),
            tasks=self._tasks(),
            changesets=tuple(lines),
            notices=(),
            started_at=workflow.info().start_time,
        )

    @workflow.query
    def plan(self) -> Plan | None:
        return Plan(summary="One step.", tasks=(_TASK,))

    @workflow.query
    def agents(self) -> AgentSettings:
        return AgentSettings()

    @workflow.query
    def task(self, id: str) -> TaskRecord | str:  # noqa: A002 (the query's public word)
        return TaskRecord(task=_TASK) if id == "t1" else f"there is no task {id!r}"

    @workflow.query
    def heard(self) -> list[tuple[str, JsonValue]]:
        return self.signals

    def _tasks(self) -> tuple[TaskLine, ...]:
        state = TaskState.MERGED if self.changeset == "merged" else TaskState.VALIDATED
        return (TaskLine(id=TaskId("t1"), state=state, attempt=1, priority=0, title=TITLE[:48]),)
