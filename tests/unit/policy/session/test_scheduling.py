"""A whole session played by its policy alone: random plans, pacings, outcomes and orders.

The machine drives what `SessionWorkflow` drives (settle, start, take up) and knows nothing of how
it decides. It keeps the promises: running claims never overlap, work starts only upon what its
dependencies have finished, whatever can move does, and in the end every task is in a final state.

Two variants take a mechanism out, by hiding claims or dependencies from the scheduler, and must be
seen to break the promise.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from itertools import combinations
from typing import cast

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,  # pyright: ignore[reportUnknownVariableType]  # hypothesis: untyped
)
from pydantic import JsonValue

from tests.unit.policy.examples import a_task
from workflows.domain.agent.agent_values import AgentEnd
from workflows.domain.budget import Bill
from workflows.domain.changeset import ChangesetState
from workflows.domain.ids import ChangesetId, Commit, TaskId, Tree
from workflows.domain.plan import Plan, Task
from workflows.domain.session.session_config import Approvals, Concurrency, Routes, SessionConfig
from workflows.domain.session.session_modes import Pacing, SessionPhase
from workflows.domain.session.session_state import SessionState
from workflows.domain.session.wave_values import (
    Developed,
    DevelopItem,
    DevelopResult,
    MergedChangeset,
    MergeResult,
    NotDeveloped,
    Refused,
    ReturnedChangeset,
    Validated,
    ValidateItem,
    ValidateResult,
    Waits,
)
from workflows.domain.task import TaskRecord
from workflows.domain.task import TaskState as Is
from workflows.domain.verdict import Verdict
from workflows.policy.decision import decisions
from workflows.policy.plan.changeset_forming import changeset_of
from workflows.policy.plan.claims import overlap
from workflows.policy.plan.plan_check import plan_faults
from workflows.policy.session import scheduling, wave_outcomes
from workflows.policy.session.task_states import FINAL

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
CLAIMS = ["a", "a/x.py", "a/*.py", "a/**/t", "b", "B/y", "b/?", "c/[xy]", "c/x", "d", "**"]
AT_WORK = frozenset({Is.DEVELOPING, Is.DEVELOPED, Is.VALIDATING})
VALID = frozenset({Is.VALIDATED, Is.MERGING})
ROUTES = Routes(planner=("scripted/a",), developer=("scripted/a",), reviewer=("scripted/b",))


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    names = [f"t{number}" for number in range(draw(st.integers(2, 7)))]
    tasks = [
        a_task(
            name,
            claims=draw(st.lists(st.sampled_from(CLAIMS), min_size=1, max_size=2)),
            depends_on=draw(st.lists(st.sampled_from(names[:place]), max_size=2, unique=True))
            if place
            else (),
            group=draw(st.sampled_from([None, None, "g", "h"])),
            priority=draw(st.integers(-1, 1)),
        )
        for place, name in enumerate(names)
    ]
    return Plan(tasks=tuple(tasks))


class Session(RuleBasedStateMachine):
    """One session; waves run until a rule ends them, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.waves: list[scheduling.StageStart] = []
        self.tasks: dict[TaskId, Task] = {}
        self.built_upon: dict[TaskId, list[TaskId]] = {}
        self.interventions = 0
        self.merges = 0
        self.is_broken = False

    def shown_to_the_scheduler(self, task: Task) -> Task:
        return task

    @initialize(
        plan=plans().filter(lambda plan: not plan_faults(plan)),
        pacing=st.sampled_from(Pacing),
        changesets=st.sampled_from(["ask", "auto_if_green"]),
        slots=st.integers(1, 4),
        attempts=st.integers(1, 3),
    )
    def begin(self, plan: Plan, pacing: Pacing, changesets: str, slots: int, attempts: int):
        self.config = SessionConfig(
            pacing=pacing,
            approvals=Approvals.model_validate({"plan": "auto", "changeset": changesets}),
            concurrency=Concurrency(develop=slots),
            attempts=attempts,
            routes=ROUTES,
        )
        self.tasks = {task.id: task for task in plan.tasks}
        shown = Plan(tasks=tuple(self.shown_to_the_scheduler(task) for task in plan.tasks))
        state = SessionState(
            started_at=NOON, phase=SessionPhase.RUNNING, cap_usd=Decimal(10), head=Commit("base")
        )
        self.state = scheduling.adopt(state, shown, self.config)
        self.step()

    # --- what the session's workflow does ---

    def step(self) -> None:
        self.is_broken = True
        self.state = scheduling.settle(self.state, self.config, NOON)
        running = {"develop": 0, "validate": 0, "merge": 0}
        for wave in self.waves:
            running[wave.stage] += len(wave.tasks) or 1
        counts = scheduling.Running(
            develop=running["develop"], validation=running["validate"], merge=running["merge"]
        )
        for start in scheduling.next_starts(self.state, self.config, counts):
            if start.stage == "develop":
                self.dependencies_hold(start.tasks)
                self.built_upon |= {name: self.unmerged_below(name) for name in start.tasks}
            self.state = scheduling.start(self.state, start)
            self.waves.append(start)
        self.is_broken = False

    def take(self, result: wave_outcomes.StageResult) -> None:
        self.is_broken = True
        self.state = wave_outcomes.take(self.state, result, NOON)
        self.step()

    def signal(self, name: str, **payload: JsonValue) -> None:
        self.is_broken = True
        applied = decisions.apply(
            self.state, self.config, decisions.Sent(name=name, payload=payload), NOON
        )
        self.state = applied.state
        self.step()

    # --- what can happen ---

    @precondition(lambda self: self.waves)
    @rule(data=st.data())
    def a_wave_ends(self, data: st.DataObject):
        wave = self.waves.pop(data.draw(st.integers(0, len(self.waves) - 1)))
        match wave.stage:
            case "develop":
                fates = [
                    data.draw(st.sampled_from(["ok", "ok", "bad", "time", "waits"]))
                    for _ in wave.tasks
                ]
                self.take(self.developed(wave.tasks, fates))
            case "validate":
                fates = [data.draw(st.sampled_from(["ok", "ok", "bad"])) for _ in wave.tasks]
                self.take(self.validated(wave.tasks, fates))
            case "merge":
                returned = data.draw(st.sampled_from([False, False, True]))
                blamed = data.draw(st.integers(0, 9)) if returned else None
                self.take(self.merged(wave.changesets, blamed))

    @precondition(lambda self: self.waves and not self.is_patience_over())
    @rule(data=st.data())
    def a_wave_is_lost(self, data: st.DataObject):
        self.interventions += 1
        wave = self.waves.pop(data.draw(st.integers(0, len(self.waves) - 1)))
        self.state = wave_outcomes.wave_lost(self.state, wave.tasks, wave.changesets, "lost", NOON)
        self.step()

    @precondition(lambda self: self.awaiting())
    @rule(data=st.data())
    def a_person_decides_on_a_changeset(self, data: st.DataObject):
        chosen = data.draw(st.sampled_from(self.awaiting()))
        self.decide(chosen, yes=self.is_patience_over() or data.draw(st.booleans()))

    @precondition(lambda self: not self.is_patience_over())
    @rule(data=st.data(), name=st.sampled_from(["skip_task", "retry_task", "set_priority"]))
    def a_person_intervenes(self, data: st.DataObject, name: str):
        self.interventions += 1
        task = data.draw(st.sampled_from(sorted(self.state.records)))
        match name:
            case "skip_task":
                self.signal(name, id=task, satisfies=data.draw(st.booleans()))
            case "retry_task":
                self.signal(name, id=task)
            case _:
                self.signal(name, id=task, n=7)

    @precondition(lambda self: not (self.waves or self.awaiting()) and self.is_patience_over())
    @rule()
    def it_is_over(self):
        assert scheduling.ending(self.state, self.config).reason

    # --- what must hold ---

    @invariant()
    def running_claims_never_overlap(self):
        at_work = [r for r in self.records() if r.state in AT_WORK]
        for one, other in combinations(at_work, 2):
            claims = (self.tasks[one.task.id].claims, self.tasks[other.task.id].claims)
            assert not overlap(*claims), f"overlap: {one.task.id} and {other.task.id} run together"

    @invariant()
    def work_stands_on_nothing_that_was_dropped(self):
        """A commit brings its ancestors along, also those that a person took out."""
        for record in self.records():
            if record.state in AT_WORK | VALID:
                for name in self.built_upon[record.task.id]:
                    below = self.state.records[name]
                    assert below.state in VALID | {Is.MERGED}, (
                        f"dropped: {record.task.id} stands on {name}, which is {below.state}"
                    )

    @invariant()
    def the_state_is_settled(self):
        if self.tasks:
            assert scheduling.settle(self.state, self.config, NOON) == self.state

    def unmerged_below(self, name: TaskId) -> list[TaskId]:
        needed = self.tasks[name].depends_on
        return [each for each in needed if self.state.records[each].state in VALID]

    def dependencies_hold(self, starting: Sequence[TaskId]) -> None:
        for name in starting:
            for dependency in self.tasks[name].depends_on:
                record = self.state.records[dependency]
                together = changeset_of(record.task) == changeset_of(self.tasks[name])
                waits = self.state.records[name].waits_for_merge
                early = together or (self.config.pacing is Pacing.FLOW and not waits)
                assert (
                    record.state is Is.MERGED
                    or (record.state is Is.SKIPPED and record.waived)
                    or (early and record.state in VALID)
                ), f"dependency: {name} starts while {dependency} is {record.state}"

    @invariant()
    def whatever_can_move_does(self):
        """With nothing running and no person asked, no task is left that could still start."""
        if self.tasks and not self.waves and not self.awaiting():
            stuck = [r.task.id for r in self.records() if r.state not in FINAL]
            assert not stuck, f"nothing moves, and {stuck} never end"

    def teardown(self):
        """Let everything pass from here on: the session must come to its end."""
        if self.is_broken:
            return  # the first error is the one to tell
        for _ in range(200 * len(self.tasks)):
            if self.waves:
                wave = self.waves.pop(0)
                match wave.stage:
                    case "develop":
                        self.take(self.developed(wave.tasks, ["ok"] * len(wave.tasks)))
                    case "validate":
                        self.take(self.validated(wave.tasks, ["ok"] * len(wave.tasks)))
                    case "merge":
                        self.take(self.merged(wave.changesets, None))
            elif waiting := self.awaiting():
                self.decide(waiting[0], yes=True)
            else:
                break
        open_tasks = {r.task.id: r.state for r in self.records() if r.state not in FINAL}
        assert not open_tasks, f"the session never ends: {open_tasks}"

    # --- outcomes ---

    def is_patience_over(self) -> bool:
        """Persons and hosts disturb a few times, not for ever: then the session must end."""
        return self.interventions >= 4

    def records(self) -> list[TaskRecord]:
        return list(self.state.records.values()) if self.tasks else []

    def awaiting(self) -> list[ChangesetId]:
        changesets = self.state.changesets if self.tasks else ()
        return [c.id for c in changesets if c.state is ChangesetState.AWAITING_APPROVAL]

    def decide(self, chosen: ChangesetId, *, yes: bool) -> None:
        changeset = next(c for c in self.state.changesets if c.id == chosen)
        if yes:
            self.signal("approve_changeset", id=chosen, digest=cast("str", changeset.digest))
        else:
            self.interventions += 1
            self.signal("reject_changeset", id=chosen, reason="not like this")

    def developed(self, tasks: Sequence[TaskId], fates: Sequence[str]) -> DevelopResult:
        return DevelopResult(items=tuple(map(self._developed, tasks, fates)))

    def _developed(self, task: TaskId, fate: str) -> DevelopItem:
        attempt = self.state.records[task].attempt
        needed = (self.state.records[d].state for d in self.tasks[task].depends_on)
        if fate == "waits" and VALID.intersection(needed):
            return Waits(task=task, attempt=attempt, detail="its dependencies conflict")
        if fate in {"ok", "waits"}:
            return Developed(
                task=task,
                attempt=attempt,
                base=Commit("base"),
                commit=Commit(f"{task}-{attempt}"),
                tree=Tree("tree"),
                family="a",
                ignored=(),
                bill=Bill(scripted=True),
            )
        return NotDeveloped(
            task=task,
            attempt=attempt,
            end=AgentEnd.TIME_LIMIT if fate == "time" else AgentEnd.SUBMITTED,
            detail="no good",
            base=None,
            checkpoint=None,
            bill=Bill(scripted=True),
        )

    def validated(self, tasks: Sequence[TaskId], fates: Sequence[str]) -> ValidateResult:
        return ValidateResult(items=tuple(map(self._validated, tasks, fates)))

    def _validated(self, task: TaskId, fate: str) -> ValidateItem:
        attempt = self.state.records[task].attempt
        if fate == "ok":
            return Validated(
                task=task,
                attempt=attempt,
                tree=Tree("tree"),
                verdict=Verdict(decision="approve", reviewer="scripted/b", family="b"),
                bill=Bill(scripted=True),
            )
        return Refused(
            task=task,
            attempt=attempt,
            by="gate",
            notes="red",
            bill=Bill(scripted=True),
        )

    def merged(self, changesets: Sequence[ChangesetId], blamed: int | None) -> MergeResult:
        self.merges += 1
        items: list[MergedChangeset | ReturnedChangeset] = []
        for name in changesets:
            changeset = next(c for c in self.state.changesets if c.id == name)
            if blamed is not None and not items:
                task = changeset.items[blamed % len(changeset.items)].task
                items.append(ReturnedChangeset(id=name, task=task, by="conflict", notes="both"))
            else:
                items.append(MergedChangeset(id=name, head=Commit("head")))
        return MergeResult(
            items=tuple(items), head=Commit(f"head-{self.merges}"), delivered=None, branch=None
        )


TestSession = Session.TestCase  # pyright: ignore[reportUnknownVariableType]  # hypothesis: untyped
TestSession.settings = settings(max_examples=25, stateful_step_count=25)


class BlindToClaims(Session):
    """The scheduler sees claims that never meet."""

    def shown_to_the_scheduler(self, task: Task) -> Task:
        return task.model_copy(update={"claims": (f"only/{task.id}",)})


class BlindToDependencies(Session):
    """The scheduler sees no dependencies."""

    def shown_to_the_scheduler(self, task: Task) -> Task:
        return task.model_copy(update={"depends_on": ()})


@pytest.mark.parametrize(
    ("broken", "promise"), [(BlindToClaims, "overlap: "), (BlindToDependencies, "dependency: ")]
)
def test_without_the_mechanism_the_promise_is_broken(broken: type[Session], promise: str):
    quick = settings(max_examples=200, phases=[Phase.generate], derandomize=True, database=None)
    with pytest.raises(AssertionError, match=promise):
        run_state_machine_as_test(broken, settings=quick)
