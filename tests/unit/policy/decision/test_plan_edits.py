"""`policy.session.plan_edits`: what of a running plan may change, and why the rest may not."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from pydantic import JsonValue

from tests.unit.policy.examples import a_plan, a_task
from workflows.domain.changeset import ChangesetState
from workflows.domain.ids import Commit, TaskId
from workflows.domain.plan import Plan, Task
from workflows.domain.session.notice import NoticeKind
from workflows.domain.session.session_config import Routes, SessionConfig
from workflows.domain.session.session_modes import SessionPhase
from workflows.domain.session.session_state import SessionState
from workflows.domain.task import TaskState
from workflows.policy.decision import decisions
from workflows.policy.decision.plan_edits import (
    difference,
    edit_faults,
    plan_digest,
    running_plan,
    told,
    with_edited_plan,
)
from workflows.policy.session.scheduling import adopt, settle

AT = datetime(2026, 1, 1, tzinfo=UTC)
ROUTE = ("scripted/author",)
CONFIG = SessionConfig(routes=Routes(planner=ROUTE, developer=ROUTE, reviewer=ROUTE), plans=2)
EMPTY = SessionState(started_at=AT, cap_usd=Decimal(10), phase=SessionPhase.RUNNING)

MERGED, RUNS, FAILED = a_task("merged"), a_task("runs"), a_task("failed")
FREE, LAST = a_task("free"), a_task("last", depends_on=["free"])
SKIPPED = a_task("skipped")
TASKS = (MERGED, RUNS, FAILED, SKIPPED, FREE, LAST)
STATES = {
    "merged": (TaskState.MERGED, 1),
    "runs": (TaskState.DEVELOPING, 1),
    "failed": (TaskState.FAILED, 3),
    "skipped": (TaskState.SKIPPED, 0),
}


def running(*tasks: Task) -> SessionState:
    state = adopt(EMPTY, a_plan(*tasks or TASKS), CONFIG).evolve(is_plan_approved=True)
    records = {
        name: record.evolve(state=STATES[name][0], attempt=STATES[name][1])
        if name in STATES
        else record
        for name, record in state.records.items()
    }
    changesets = tuple(
        each.evolve(state=ChangesetState.MERGED) if each.id == "merged" else each
        for each in state.changesets
    )
    return state.evolve(records=records, changesets=changesets)


def but(task: Task, **changes: Any) -> Task:
    return Task.model_validate({**task.model_dump(), **changes})


def with_(*changed: Task, without: str = "") -> Plan:
    new = {task.id: task for task in (*TASKS, *changed)}
    return a_plan(*(task for name, task in new.items() if name != without))


@pytest.mark.parametrize(
    "new",
    [
        with_(),
        with_(a_task("more", depends_on=["last"])),
        with_(a_task("after", ["only/runs"], depends_on=["runs"])),
        with_(but(FREE, title="another", claims=["else/**"])),
        with_(but(FAILED, description="try it that way")),
        with_(but(SKIPPED, description="later, perhaps")),
        with_(but(RUNS, priority=5)),
        with_(but(LAST, depends_on=[]), without="free"),
        with_(but(FREE, claims=["only/failed"])),
    ],
)
def test_a_task_that_has_not_started_may_change(new: Plan) -> None:
    assert edit_faults(running(), new) == ()


@pytest.mark.parametrize(
    ("new", "words"),
    [
        (with_(but(MERGED, title="x")), "task 'merged' cannot be changed: it is merged"),
        (with_(but(RUNS, title="x")), "task 'runs' is developing: until that is over only its pri"),
        (with_(but(LAST, depends_on=["nope"])), "depends on 'nope'"),
        (with_(but(FREE, depends_on=["last"])), "no task of this cycle could ever start"),
        (with_(but(FREE, claims=["../x"])), "'../x'"),
        (with_(a_task("more", ["only"])), "'more' claims the same paths as 'runs', which is devel"),
        (with_(but(FREE, claims=["only/runs"])), "let it depend on that, or separate the claims"),
        (with_(without="free"), "'free' cannot be removed, because 'last' would still depend on"),
        (with_(without="merged"), "because it has started (merged): add a task that undoes it"),
        (with_(without="runs"), "because it has started (developing): skip it instead"),
        (with_(without="skipped"), "because it has started (skipped): leave it in the plan"),
        (
            with_(a_task("more", group="merged"), but(MERGED, group="merged")),
            "changeset 'merged' is merged: leave its tasks (merged) together",
        ),
    ],
)
def test_the_rest_may_not(new: Plan, words: str) -> None:
    assert words in "\n".join(edit_faults(running(), new))


def test_all_faults_of_an_edit_are_reported_at_once() -> None:
    new = with_(but(MERGED, title="x"), but(RUNS, title="x"), a_task("more", ["only/runs"]))
    assert len(edit_faults(running(), new)) == 3


def test_a_session_without_a_plan_has_nothing_to_change() -> None:
    assert edit_faults(EMPTY, with_()) == ("there is no plan to change",)


def test_an_edit_keeps_what_was_done_and_starts_the_rest() -> None:
    before = running()
    new = with_(a_task("more", depends_on=["free"]), but(LAST, depends_on=["more"]))
    after = with_edited_plan(before, new, CONFIG)
    assert running_plan(after) == new
    assert after.records[TaskId("merged")] == before.records[TaskId("merged")]
    assert after.records[TaskId("more")].attempts_allowed == CONFIG.attempts
    states = {str(each.id): each.state for each in after.changesets}
    assert (states["merged"], states["more"]) == (ChangesetState.MERGED, ChangesetState.COLLECTING)
    assert [each.id for each in after.changesets][-3:] == ["free", "more", "last"]


def test_a_ready_task_that_depends_on_more_waits_again_and_leaves_its_old_base() -> None:
    before = settle(running(), CONFIG, AT)
    free = before.records[TaskId("free")]
    assert free.state is TaskState.READY
    kept = free.evolve(attempt=1, base=Commit("b" * 40), restart_from=Commit("c" * 40))
    before = before.evolve(records={**before.records, TaskId("free"): kept})
    new = with_(a_task("first"), but(FREE, depends_on=["first"]))
    after = with_edited_plan(before, new, CONFIG).records[TaskId("free")]
    assert (after.state, after.base, after.restart_from) == (TaskState.PENDING, None, None)


def test_a_blocked_task_that_depends_on_nothing_lost_any_more_goes_on() -> None:
    tasks = (FAILED, but(LAST, depends_on=["failed"]))
    before = settle(running(*tasks), CONFIG, AT)
    assert before.records[TaskId("last")].state is TaskState.BLOCKED
    after = with_edited_plan(before, a_plan(FAILED, but(LAST, depends_on=[])), CONFIG)
    assert settle(after, CONFIG, AT).records[TaskId("last")].state is TaskState.READY


def test_the_difference_is_described_in_words() -> None:
    new = with_(a_task("more"), but(LAST, depends_on=[]), without="free")
    assert difference(with_(), new).words() == "added more; changed last; removed free"
    assert told(with_(), with_(), "ann") == "ann changed the plan: its summary or order"


def _edit(state: SessionState, plan: Plan, digest: str) -> decisions.Applied:
    payload: JsonValue = {"plan": plan.model_dump(mode="json"), "digest": digest, "by": "ann"}
    return decisions.apply(state, CONFIG, decisions.Sent("edit_plan", payload), AT)


def test_an_edit_is_taken_up_noticed_and_recorded() -> None:
    before = running()
    done = _edit(before, with_(a_task("more")), plan_digest(with_()))
    assert done.refused == ""
    assert done.state.notices[-1].kind is NoticeKind.PLAN_EDITED
    assert done.state.notices[-1].text == "ann changed the plan: added more"
    assert (done.state.decisions[-1].what, done.state.decisions[-1].by) == ("edit_plan", "ann")


def test_an_edit_of_another_plan_is_stale() -> None:
    state = running()
    prioritised = decisions.apply(
        state, CONFIG, decisions.Sent("set_priority", {"id": "free", "n": 3}), AT
    ).state
    for digest in ("", "f" * 64, plan_digest(with_())):
        assert "the plan was changed since" in _edit(prioritised, with_(), digest).refused
    assert (
        "the edit is refused: " in _edit(state, with_(without="runs"), plan_digest(with_())).refused
    )
    many = with_(*(a_task(f"t{n}", ["only/runs"]) for n in range(12)))
    assert _edit(state, many, plan_digest(with_())).refused.endswith("; and 2 faults more")


def test_a_plan_that_waits_is_replaced_and_approved_by_an_edit() -> None:
    waits = running().evolve(phase=SessionPhase.AWAITING_PLAN, is_plan_approved=False)
    done = _edit(waits, a_plan(FREE), plan_digest(with_()))
    assert (list(done.state.records), done.state.plan_approved_by) == (["free"], "ann")
    assert "there is no plan to change" in _edit(EMPTY, with_(), "").refused


def test_the_planner_is_asked_for_so_many_plans_and_no_more() -> None:
    waits = running().evolve(phase=SessionPhase.AWAITING_PLAN, is_plan_approved=False)
    sent = decisions.Sent("reject_plan", {"notes": "no"})
    assert decisions.apply(waits.evolve(plans_made=1), CONFIG, sent, AT).refused == ""
    refused = decisions.apply(waits.evolve(plans_made=2), CONFIG, sent, AT).refused
    assert "the planner has made 2 plans, the most that `plans` allows" in refused
