"""Invented sessions of any size, as the readers of histories would find them."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

from pydantic import JsonValue

from starter.reports.report_facts import Facts, TaskDiff
from tests.unit.starter import shown
from workers.telemetry.session_record import (
    AgentSeen,
    CheckedEvidence,
    GateRun,
    ItemSeen,
    MergeSeen,
    PlanSeen,
    QuestionSeen,
    SessionRecord,
)
from workers.telemetry.traces.span_values import Span, Trace
from workflows.domain.agent.agent_values import AgentEnd, AgentLimits, AgentOutcome
from workflows.domain.agent.model_values import Role
from workflows.domain.budget import Bill
from workflows.domain.gate import GateReport, GateResult, Judgement, TestCounts
from workflows.domain.ids import AgentId, ChangesetId, Commit, TaskId, Tree
from workflows.domain.plan import Plan, Task
from workflows.domain.session.decision import Decision
from workflows.domain.session.notice import Notice, NoticeKind
from workflows.domain.session.query_answers import ChangesetLine
from workflows.domain.session.question import QuestionAsked
from workflows.domain.session.session_modes import SessionPhase
from workflows.domain.session.wave_values import MergedChangeset, Refused, Validated
from workflows.domain.task import TaskState
from workflows.domain.verdict import Evidence, EvidencePlace, Verdict

BEGAN = datetime(2026, 11, 27, 9, 0, tzinfo=UTC)
COMMIT = Commit("c" * 40)
USD = Decimal("0.01")
"""What each model call of an invented session costs."""


def at(seconds: float) -> datetime:
    """Return a moment of the session."""
    return BEGAN + timedelta(seconds=seconds)


class _Builder:
    """Collects what a session of some tasks leaves behind."""

    def __init__(self, tasks: int, text: str) -> None:
        self.text = text
        self.names = [f"t{number}" for number in range(1, tasks + 1)]
        self.spans = [_span("session", None, 0, 60 + 10 * tasks, cost=USD * (1 + 2 * tasks))]
        self.record = SessionRecord(goal=f"Fix all. {text}")
        self._add_agent("plan.1", Role.PLANNER, 2, 8)
        plan = Plan(summary=text or "a plan", tasks=tuple(map(self._task, self.names)))
        self.record.plans.append(PlanSeen(at=at(8), plan=plan, by_planner=True))
        for number, name in enumerate(self.names):
            self._add_task(name, 20 + 10 * number)

    def _task(self, name: str) -> Task:
        number = int(name[1:])
        below = (TaskId(f"t{number // 2}"),) if number > 1 else ()
        return Task(
            id=TaskId(name),
            title=f"Fix {name} {self.text}",
            description=self.text,
            acceptance_criteria=(f"{name} works {self.text}",),
            claims=(f"src/{name}/{self.text[:40]}x",),
            depends_on=below,
        )

    def _add_agent(self, name: str, role: Role, begin: float, end: float) -> None:
        span, turn = _span(name, "session", begin, end, cost=USD), f"{name} turn"
        self.spans += [
            span,
            _span(turn, name, begin, end, kind="turn", cost=USD),
            _span(f"{name} call", turn, begin, end, kind="activity", name="models.call", cost=USD),
        ]
        evidence = _evidence(self.text)
        submission: dict[str, JsonValue] = {
            "approve": True,
            "summary": self.text or "it is as wanted",
            "evidence": [evidence.model_dump(mode="json")],
        }
        self.record.agents[name] = AgentSeen(
            name=name,
            role=role,
            limits=AgentLimits(turns=60, wall=timedelta(minutes=20), usd=Decimal(1)),
            began=at(begin),
            outcome=AgentOutcome(
                agent=AgentId(name),
                end=AgentEnd.SUBMITTED,
                submission=submission if role is Role.REVIEWER else None,
                checkpoint=COMMIT,
                turns=1,
                bill=Bill(usd=USD),
                model="scripted/beta",
                family="beta",
            ),
        )

    def _add_task(self, name: str, begin: float) -> None:
        self._add_agent(f"dev.{name}.1", Role.DEVELOPER, begin, begin + 4)
        self._add_agent(f"review.{name}.1.1", Role.REVIEWER, begin + 6, begin + 8)
        result = GateResult(
            gate="tests",
            result="passed",
            exit_code=0,
            tests=TestCounts(passed=3),
            excerpt=self.text,
            failures=(self.text,) if self.text else (),
        )
        report = GateReport(tree=Tree("d" * 40), results=(result,))
        what = f"gates on {name}, attempt 1"
        run = GateRun(began=at(begin + 4), ended=at(begin + 6), what=what, report=report)
        self.record.gates.append(run)
        validated = Validated(
            task=TaskId(name),
            attempt=1,
            tree=Tree("d" * 40),
            judgement=Judgement(by=("tests",)),
            verdict=Verdict(decision="approve", reviewer="scripted/beta", family="beta"),
            bill=Bill(usd=USD),
        )
        self.record.items.append(ItemSeen(at=at(begin + 8), item=validated))
        merged = MergedChangeset(id=ChangesetId(name), head=COMMIT, gate_remarks=self.text)
        self.record.merges.append(MergeSeen(at=at(begin + 9.5), item=merged))

    def facts(self) -> Facts:
        number = len(self.names)
        decisions = [_decision("approve_plan", "", 12)]
        decisions += [
            _decision("approve_changeset", name, 29 + 10 * place)
            for place, name in enumerate(self.names)
        ]
        notice = Notice(
            kind=NoticeKind.GATE,
            subject=self.names[0],
            text=f"a notice {self.text}",
            first_at=at(30),
            last_at=at(40),
            count=3,
        )
        self.record.evidence.append(
            CheckedEvidence(evidence=(_evidence(self.text),), places=(EvidencePlace.CHANGED,))
        )
        view = shown.session(
            goal=f"Fix all. {self.text}"[:200],
            phase=SessionPhase.ENDED,
            outcome="complete",
            live=False,
            reason=self.text,
            started_at=BEGAN,
            branch=f"blueflame/{self.text}",
            repository=f"/home/p/{self.text}",
            spent_usd=USD * (1 + 2 * number),
            tasks=tuple(
                shown.task(name, TaskState.MERGED, attempt=1, reason=self.text[:60])
                for name in self.names
            ),
            changesets=tuple(_changeset(name, self.text) for name in self.names),
            decisions=tuple(decisions[-100:]),
            decisions_dropped=max(len(decisions) - 100, 0),
            notices=(notice,),
        )
        diffs = {TaskId(name): TaskDiff(_diff(name, self.text)) for name in self.names}
        trace = Trace(trace_id="0" * 32, session=view.session, spans=tuple(self.spans))
        return Facts(view, trace, self.record, at(60 + 10 * number), diffs)


def session(tasks: int, text: str = "") -> Facts:
    """Return what a complete session of some tasks left behind.

    Args:
        tasks: how many; each depends on the one of half its number.
        text: stands in each text that is not the orchestrator's own.
    """
    return _Builder(tasks, text).facts()


def refused(facts: Facts, task: str, seconds: float, notes: str) -> Facts:
    """Add an attempt that the reviewer refused."""
    item = Refused(task=TaskId(task), attempt=1, by="reviewer", notes=notes, bill=Bill())
    facts.record.items.append(ItemSeen(at=at(seconds), item=item))
    return facts


def asked(facts: Facts, about: str, seconds: float, text: str) -> Facts:
    """Add a question of an agent."""
    question = QuestionAsked(agent=AgentId(f"dev.{about}.1"), about=about, text=text)
    facts.record.questions.append(QuestionSeen(at=at(seconds), asked=question))
    return facts


def _decision(what: str, subject: str, seconds: float) -> Decision:
    return Decision(what=what, subject=subject, by="ann@desk", source="signal", at=at(seconds))


def _changeset(name: str, text: str) -> ChangesetLine:
    return ChangesetLine(
        id=ChangesetId(name),
        state="merged",
        digest=None,
        tasks=(TaskId(name),),
        approved_by=f"ann {text}",
        judged_by=("tests",),
        not_judged=text[:200],
    )


def _diff(name: str, text: str) -> str:
    return (
        f"diff --git a/{name}{text} b/{name}{text}\n--- a/{name}\n+++ b/{name}\n"
        f"@@ -1 +1 @@ {text}\n-old {text}\n+new {text}\n"
    )


def _evidence(text: str) -> Evidence:
    return Evidence(
        criterion=f"it works {text}",
        path=f"src/x{text}"[:500],
        line_start=3,
        line_end=5,
        quote=f"return 1 {text}",
    )


def _span(
    span: str,
    parent: str | None,
    begin: float,
    end: float,
    *,
    kind: str = "workflow",
    name: str = "",
    cost: Decimal | None = None,
) -> Span:
    facts = {"gen_ai.provider.name": "scripted", "gen_ai.request.model": "alpha"}
    counts = {"gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 20}
    values = {
        "id": span,
        "parent": parent,
        "kind": kind,
        "name": name or span,
        "began": at(begin),
        "ended": at(end),
        "outcome": "completed",
        "cost_usd": cost,
        "attributes": {**facts, **counts} if kind == "activity" else {},
    }
    return Span.model_validate(values)
