"""What a session's waves found: plans, attempts, verdicts, gates and merges, from their histories.

The session's own view says how things stand; the histories also hold what was refused and reworked.
No worker is needed, and reading again gives the same. What was stored outside of a history, in a
store that is not here, is left out.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from pydantic import BaseModel
from temporalio.api.common.v1 import Payloads
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client, WorkflowExecution

from workers.telemetry.history_events import decoded, summary_of, time_of
from workflows.contracts.gate_contracts import RUN_GATES
from workflows.contracts.host_contracts import CHECK_EVIDENCE, CheckEvidence, EvidenceChecked
from workflows.domain.agent.agent_values import AgentLimits, AgentOutcome, AgentRequest
from workflows.domain.agent.model_values import Role
from workflows.domain.gate import GateReport
from workflows.domain.plan import Plan
from workflows.domain.session.decision_inputs import EditPlan, ReplacePlan
from workflows.domain.session.question import QuestionAsked
from workflows.domain.session.session_start import SessionRequest
from workflows.domain.session.wave_values import (
    DevelopItem,
    DevelopResult,
    ItemReport,
    MergeItem,
    MergeResult,
    PlanResult,
    ValidateItem,
    ValidateResult,
)
from workflows.domain.verdict import Evidence, EvidencePlace

_WAVES: Final = {
    "PlanWave": PlanResult,
    "DevelopWave": DevelopResult,
    "ValidateWave": ValidateResult,
    "MergeWave": MergeResult,
}
_AGENT: Final = "AgentWorkflow"
_PLANS: Final = {"replace_plan": ReplacePlan, "edit_plan": EditPlan}


class PlanSeen(BaseModel, frozen=True, extra="forbid"):
    """A plan, or why the planner made none."""

    at: datetime
    plan: Plan | None
    reason: str = ""
    by_planner: bool
    """False: a person brought or changed it."""


class ItemSeen(BaseModel, frozen=True, extra="forbid"):
    """How one attempt, or one validation of it, ended."""

    at: datetime
    item: DevelopItem | ValidateItem


class MergeSeen(BaseModel, frozen=True, extra="forbid"):
    """What became of one changeset in the merge queue."""

    at: datetime
    item: MergeItem


class GateRun(BaseModel, frozen=True, extra="forbid"):
    """One run of the gates on one tree."""

    began: datetime
    ended: datetime
    what: str
    """In words: `gates on parser, attempt 1`."""
    report: GateReport


class AgentSeen(BaseModel, frozen=True, extra="forbid"):
    """One agent: what it was allowed, and how it ended."""

    name: str
    role: Role
    limits: AgentLimits
    began: datetime
    outcome: AgentOutcome | None = None
    """None: it runs, or was lost."""


class CheckedEvidence(BaseModel, frozen=True, extra="forbid"):
    """A reviewer's citations, and where each text was found."""

    evidence: tuple[Evidence, ...]
    places: tuple[EvidencePlace, ...]


class QuestionSeen(BaseModel, frozen=True, extra="forbid"):
    """An agent's question to the person."""

    at: datetime
    asked: QuestionAsked


@dataclass
class SessionRecord:
    """All that the waves found, each list in the order in which it happened."""

    goal: str = ""
    """The whole goal; empty if it cannot be read here."""
    plans: list[PlanSeen] = field(default_factory=list[PlanSeen])
    items: list[ItemSeen] = field(default_factory=list[ItemSeen])
    merges: list[MergeSeen] = field(default_factory=list[MergeSeen])
    gates: list[GateRun] = field(default_factory=list[GateRun])
    agents: dict[str, AgentSeen] = field(default_factory=dict[str, AgentSeen])
    """By name."""
    evidence: list[CheckedEvidence] = field(default_factory=list[CheckedEvidence])
    questions: list[QuestionSeen] = field(default_factory=list[QuestionSeen])


async def read_record(client: Client, session: str) -> SessionRecord:
    """Read the histories of a session and of its waves, without those of its agents."""
    root = f"session/{session}"
    query = (
        f'(WorkflowId = "{root}" OR WorkflowId STARTS_WITH "{root}/") '
        f'AND WorkflowType != "{_AGENT}" AND WorkflowType != "SessionLedger" '
        'AND WorkflowType != "SessionNotifier" AND WorkflowType != "SessionReport"'
    )
    runs = [each async for each in client.list_workflows(query)]
    record = SessionRecord()
    for run in sorted(runs, key=lambda each: (each.start_time, each.id)):
        await _RunReader(client, record).read(run)
    record.items.sort(key=lambda each: each.at)
    record.merges.sort(key=lambda each: each.at)
    record.gates.sort(key=lambda each: each.began)
    return record


_Read = Callable[[HistoryEvent], Awaitable[None]]


class _RunReader:
    """Reads one run of a session or a wave into the record."""

    def __init__(self, client: Client, record: SessionRecord) -> None:
        self._client = client
        self._record = record
        self._scheduled: dict[int, HistoryEvent] = {}
        self._readers: dict[EventType.ValueType, _Read] = {
            EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED: self._began,
            EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED: self._signalled,
            EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED: self._updated,
            EventType.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED: self._child_began,
            EventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_COMPLETED: self._child_ended,
            EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED: self._activity_scheduled,
            EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED: self._activity_completed,
        }

    async def read(self, run: WorkflowExecution) -> None:
        """Add what the run's history holds."""
        handle = self._client.get_workflow_handle(run.id, run_id=run.run_id)
        async for event in handle.fetch_history_events():
            if (reader := self._readers.get(event.event_type)) is not None:
                await reader(event)

    async def _began(self, event: HistoryEvent) -> None:
        given = event.workflow_execution_started_event_attributes
        if given.workflow_type.name != "SessionWorkflow" or self._record.goal:
            return
        request = await self._decoded(given.input, SessionRequest)
        if isinstance(request, SessionRequest):
            self._record.goal = request.goal
            if request.plan is not None:
                brought = PlanSeen(at=time_of(event), plan=request.plan, by_planner=False)
                self._record.plans.append(brought)

    async def _signalled(self, event: HistoryEvent) -> None:
        given = event.workflow_execution_signaled_event_attributes
        at = time_of(event)
        match given.signal_name:
            case "question_asked":
                asked = await self._decoded(given.input, QuestionAsked)
                if isinstance(asked, QuestionAsked):
                    self._record.questions.append(QuestionSeen(at=at, asked=asked))
            case "item_reported":
                told = await self._decoded(given.input, ItemReport)
                if isinstance(told, ItemReport):
                    self._record.items.append(ItemSeen(at=at, item=told.item))
            case name:
                await self._plan_sent(at, name, given.input)

    async def _updated(self, event: HistoryEvent) -> None:
        given = event.workflow_execution_update_accepted_event_attributes.accepted_request.input
        await self._plan_sent(time_of(event), given.name, given.args)

    async def _plan_sent(self, at: datetime, name: str, given: Payloads) -> None:
        if name not in _PLANS:
            return
        sent = await self._decoded(given, _PLANS[name])
        if isinstance(sent, EditPlan | ReplacePlan):
            self._record.plans.append(PlanSeen(at=at, plan=sent.plan, by_planner=False))

    async def _child_began(self, event: HistoryEvent) -> None:
        given = event.start_child_workflow_execution_initiated_event_attributes
        if given.workflow_type.name != _AGENT:
            return
        request = await self._decoded(given.input, AgentRequest)
        if isinstance(request, AgentRequest):
            self._record.agents[request.agent] = AgentSeen(
                name=request.agent,
                role=request.role,
                limits=request.limits,
                began=time_of(event),
            )

    async def _child_ended(self, event: HistoryEvent) -> None:
        given = event.child_workflow_execution_completed_event_attributes
        kind = given.workflow_type.name
        if kind == _AGENT:
            outcome = await self._decoded(given.result, AgentOutcome)
            if isinstance(outcome, AgentOutcome):
                self._agent_ended(outcome)
        elif kind in _WAVES:
            self._wave_ended(time_of(event), await self._decoded(given.result, _WAVES[kind]))

    def _agent_ended(self, outcome: AgentOutcome) -> None:
        seen = self._record.agents.get(outcome.agent)
        if seen is not None:
            self._record.agents[outcome.agent] = AgentSeen(
                name=seen.name,
                role=seen.role,
                limits=seen.limits,
                began=seen.began,
                outcome=outcome,
            )

    def _wave_ended(self, at: datetime, result: object) -> None:
        match result:
            case PlanResult():
                seen = PlanSeen(at=at, plan=result.plan, reason=result.reason, by_planner=True)
                self._record.plans.append(seen)
            case DevelopResult() | ValidateResult():
                self._record.items += [ItemSeen(at=at, item=each) for each in result.items]
            case MergeResult():
                self._record.merges += [MergeSeen(at=at, item=each) for each in result.items]
            case _:
                pass

    async def _activity_scheduled(self, event: HistoryEvent) -> None:
        name = event.activity_task_scheduled_event_attributes.activity_type.name
        if name in {RUN_GATES.name, CHECK_EVIDENCE.name}:
            self._scheduled[event.event_id] = event

    async def _activity_completed(self, event: HistoryEvent) -> None:
        given = event.activity_task_completed_event_attributes
        if (asked := self._scheduled.pop(given.scheduled_event_id, None)) is None:
            return
        attributes = asked.activity_task_scheduled_event_attributes
        if attributes.activity_type.name == RUN_GATES.name:
            report = await self._decoded(given.result, GateReport)
            if isinstance(report, GateReport):
                run = GateRun(
                    began=time_of(asked),
                    ended=time_of(event),
                    what=await summary_of(self._client, asked),
                    report=report,
                )
                self._record.gates.append(run)
            return
        check = await self._decoded(attributes.input, CheckEvidence)
        found = await self._decoded(given.result, EvidenceChecked)
        if isinstance(check, CheckEvidence) and isinstance(found, EvidenceChecked):
            checked = CheckedEvidence(evidence=check.evidence, places=found.places)
            self._record.evidence.append(checked)

    async def _decoded(self, given: Payloads, kind: Any) -> object:
        return await decoded(self._client, given, kind)
