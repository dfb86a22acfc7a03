"""What may start, one case at a time; the simulation beside this holds the whole together."""

from collections.abc import Mapping

import pytest

from tests.unit.policy.examples import a_record, a_task, records_of
from workflows.domain.ids import TaskId
from workflows.domain.session.session_modes import Pacing
from workflows.domain.task import TaskRecord
from workflows.domain.task import TaskState as Is
from workflows.policy.session.readiness import (
    holds_claims,
    is_satisfied,
    newly_blocked,
    newly_ready,
    newly_unblocked,
    next_batch,
)

WAVE, FLOW = Pacing.WAVE, Pacing.FLOW


def waiting(name: str, *depends_on: str, claims: str = "", **facts: object) -> TaskRecord:
    """A ready task, or with dependencies, or in another state that `facts` name."""
    task = a_task(name, [claims] if claims else [], depends_on)
    return a_record(task, Is.READY).model_copy(update=facts)


def batch(
    records: Mapping[TaskId, TaskRecord], pacing: Pacing = WAVE, slots: int | None = None
) -> tuple[TaskId, ...]:
    return next_batch(records, pacing, slots)


# --- dependencies --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "wave", "wave_together", "flow"),
    [
        (Is.MERGED, True, True, True),
        (Is.VALIDATED, False, True, True),
        (Is.MERGING, False, True, True),
        (Is.VALIDATING, False, False, False),
        (Is.DEVELOPED, False, False, False),
        (Is.REJECTED, False, False, False),
        (Is.FAILED, False, False, False),
        (Is.SKIPPED, False, False, False),
    ],
)
def test_what_satisfies_a_dependency(state: Is, wave: bool, wave_together: bool, flow: bool):
    alone = a_record(a_task("a"), state)
    grouped = a_record(a_task("a", group="g"), state)
    assert is_satisfied(alone, a_record(a_task("b", depends_on=["a"])), WAVE) is wave
    assert is_satisfied(alone, a_record(a_task("b", depends_on=["a"])), FLOW) is flow
    together = a_record(a_task("b", depends_on=["a"], group="g"))
    assert is_satisfied(grouped, together, WAVE) is wave_together


def test_a_task_that_waits_for_the_merge_starts_upon_merged_work_only():
    waits = a_record(a_task("b", depends_on=["a"]), waits_for_merge=True)
    assert not is_satisfied(a_record(a_task("a"), Is.VALIDATED), waits, FLOW)
    assert is_satisfied(a_record(a_task("a"), Is.MERGED), waits, FLOW)
    together = a_record(a_task("b", depends_on=["a"], group="g"), waits_for_merge=True)
    assert is_satisfied(a_record(a_task("a", group="g"), Is.VALIDATED), together, FLOW)


@pytest.mark.parametrize("pacing", Pacing)
def test_a_skipped_dependency_satisfies_only_where_a_person_said_so(pacing: Pacing):
    skipped = a_record(a_task("a"), Is.SKIPPED)
    dependant = a_record(a_task("b", depends_on=["a"]))
    assert not is_satisfied(skipped, dependant, pacing)
    assert is_satisfied(skipped.model_copy(update={"waived": True}), dependant, pacing)


def test_only_pending_tasks_become_ready_and_only_with_all_dependencies():
    records = records_of(
        a_record(a_task("a"), Is.MERGED),
        a_record(a_task("b"), Is.DEVELOPING),
        a_record(a_task("none")),
        a_record(a_task("one", depends_on=["a"])),
        a_record(a_task("both", depends_on=["a", "b"])),
        a_record(a_task("failed"), Is.FAILED),
    )
    assert newly_ready(records, WAVE) == ("none", "one")


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (Is.FAILED, "depends on 'a', which failed"),
        (Is.SKIPPED, "depends on 'a', which was skipped"),
        (Is.CANCELLED, "depends on 'a', which was cancelled"),
        (Is.TIMED_OUT, "depends on 'a', which ran out of time"),
        (Is.BLOCKED, "depends on 'a', which is blocked"),
    ],
)
def test_dependants_of_a_lost_task_are_blocked_transitively(state: Is, words: str):
    records = records_of(
        a_record(a_task("c", depends_on=["b"])),
        a_record(a_task("b", depends_on=["a"]), Is.READY),
        a_record(a_task("a"), state),
        a_record(a_task("other")),
    )
    assert newly_blocked(records) == (
        ("b", words),
        ("c", "depends on 'b', which is blocked"),
    )


def test_running_or_finished_tasks_are_not_blocked():
    records = records_of(
        a_record(a_task("a"), Is.FAILED),
        a_record(a_task("b", depends_on=["a"]), Is.DEVELOPING),
        a_record(a_task("c", depends_on=["a"]), Is.MERGED),
    )
    assert newly_blocked(records) == ()


def test_a_waived_skip_blocks_no_dependant():
    records = records_of(
        a_record(a_task("a"), Is.SKIPPED, waived=True), a_record(a_task("b", depends_on=["a"]))
    )
    assert newly_blocked(records) == ()


def test_a_retried_dependency_unblocks_transitively():
    records = records_of(
        a_record(a_task("c", depends_on=["b"]), Is.BLOCKED),
        a_record(a_task("b", depends_on=["a"]), Is.BLOCKED),
        a_record(a_task("a")),
        a_record(a_task("lost"), Is.FAILED),
        a_record(a_task("still", depends_on=["a", "lost"]), Is.BLOCKED),
    )
    assert newly_unblocked(records) == ("b", "c")


# --- claims --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "attempt", "holds"),
    [
        (Is.PENDING, 0, False),
        (Is.PENDING, 2, False),
        (Is.READY, 0, False),
        (Is.READY, 1, True),
        (Is.DEVELOPING, 1, True),
        (Is.DEVELOPED, 1, True),
        (Is.VALIDATING, 1, True),
        (Is.VALIDATED, 1, True),
        (Is.REJECTED, 1, True),
        (Is.MERGING, 1, True),
        (Is.MERGED, 1, False),
        (Is.FAILED, 3, False),
        (Is.BLOCKED, 1, False),
        (Is.SKIPPED, 1, False),
        (Is.CANCELLED, 1, False),
        (Is.TIMED_OUT, 1, False),
    ],
)
def test_claims_are_held_from_the_first_start_until_the_end(state: Is, attempt: int, holds: bool):
    assert holds_claims(a_record(a_task("a"), state, attempt=attempt)) is holds


def test_overlapping_tasks_do_not_start_together():
    records = records_of(
        waiting("a", claims="src"), waiting("b", claims="src/x.py"), waiting("c", claims="docs")
    )
    assert batch(records) == ("a", "c")


@pytest.mark.parametrize(
    "state",
    [Is.DEVELOPING, Is.DEVELOPED, Is.VALIDATING, Is.VALIDATED, Is.MERGING, Is.REJECTED],
)
def test_a_holder_keeps_others_out(state: Is):
    begun = waiting("a", claims="src", state=state, attempt=1)
    records = records_of(begun, waiting("b", claims="src/x.py"))
    assert batch(records) == ()


def test_started_work_comes_before_new_work():
    begun = waiting("late", claims="src", attempt=1)
    records = records_of(waiting("early", claims="src/x.py"), begun)
    assert batch(records) == ("late",)


def test_of_two_begun_that_overlap_one_starts():
    # One failed, let go, and was retried after the other had started and been sent back.
    records = records_of(
        waiting("a", claims="src", attempt=3), waiting("b", claims="src", attempt=1)
    )
    assert batch(records) == ("a",)


@pytest.mark.parametrize("state", [Is.VALIDATED, Is.MERGING])
def test_in_flow_work_starts_upon_its_dependency_although_both_claim_the_same(state: Is):
    records = records_of(
        waiting("a", claims="src", state=state, attempt=1), waiting("b", "a", claims="src/x.py")
    )
    assert batch(records, FLOW) == ("b",)
    assert batch(records, WAVE) == ()


def test_a_ready_task_whose_dependency_fell_back_waits():
    records = records_of(
        waiting("a", claims="src", state=Is.REJECTED, attempt=1), waiting("b", "a", claims="docs")
    )
    assert batch(records, FLOW) == ()


def test_a_reworked_ancestor_holds_back_its_dependants():
    records = records_of(
        waiting("a", claims="src", state=Is.DEVELOPING, attempt=2),
        waiting("b", "a", claims="docs", state=Is.VALIDATED, attempt=1),
        waiting("c", "b", claims="src/x.py"),
    )
    assert batch(records, FLOW) == ()


def test_work_below_gives_way_to_the_rework_that_it_waits_for():
    records = records_of(
        waiting("a", claims="src", attempt=1), waiting("b", "a", claims="src/x.py", attempt=1)
    )
    assert batch(records, FLOW) == ("a",)
    running = {"state": Is.DEVELOPING, "attempt": 1}
    records = records_of(
        waiting("a", claims="src", attempt=1), waiting("b", "a", claims="src/x.py", **running)
    )
    assert batch(records, FLOW) == ()


def test_an_ancestor_and_its_dependant_do_not_start_together():
    # `b` is still valid, although `a` below it fell back a moment ago: only one of a and c starts.
    records = records_of(
        waiting("c", "b", claims="src/x.py", task=a_task("c", ["src/x.py"], ["b"], priority=9)),
        waiting("b", "a", claims="docs", state=Is.VALIDATED, attempt=1),
        waiting("a", claims="src", attempt=1),
    )
    assert batch(records, FLOW) == ("a",)


def test_inside_of_a_changeset_validated_work_gives_way():
    first = a_record(a_task("a", ["src"], group="g"), Is.VALIDATED, attempt=1)
    second = a_record(a_task("b", ["src"], group="g"), Is.READY)
    running = a_record(a_task("other"), Is.DEVELOPING, attempt=1)
    assert batch(records_of(first, second, running)) == ("b",)
    developed = first.model_copy(update={"state": Is.DEVELOPED})
    assert batch(records_of(developed, second, running)) == ()


def crossed(**last: object) -> Mapping[TaskId, TaskRecord]:
    """Two changesets, each with validated work that keeps the other's second task out."""
    return records_of(
        a_record(a_task("a1", ["x"], group="a"), Is.VALIDATED, attempt=1),
        a_record(a_task("a2", ["y"], group="a"), Is.READY),
        a_record(a_task("b1", ["y"], group="b"), Is.VALIDATED, attempt=1),
        a_record(a_task("b2", ["x"], group="b"), Is.READY),
        a_record(a_task("last", ["z"]), Is.MERGED).model_copy(update=last),
    )


def test_two_changesets_that_wait_for_each_other_do_not_wait_for_ever():
    assert batch(crossed()) == ("a2",)


@pytest.mark.parametrize(
    "state",
    [Is.DEVELOPING, Is.DEVELOPED, Is.VALIDATING, Is.REJECTED, Is.MERGING, Is.VALIDATED],
)
def test_but_as_long_as_anything_moves_claims_do_not_yield(state: Is):
    assert batch(crossed(state=state, attempt=1)) == ()


# --- order and slots -----------------------------------------------------------------------------


def test_priority_then_chain_then_dependants_then_plan_order():
    records = records_of(
        waiting("plain1"),
        waiting("plain2"),
        waiting("wide"),
        waiting("deep"),
        waiting("urgent", task=a_task("urgent", priority=5)),
        a_record(a_task("w1", depends_on=["wide"])),
        a_record(a_task("w2", depends_on=["wide"])),
        a_record(a_task("d1", depends_on=["deep"])),
        a_record(a_task("d2", depends_on=["d1"])),
    )
    assert batch(records) == ("urgent", "deep", "wide", "plain1", "plain2")


def test_what_is_done_behind_a_task_does_not_make_it_urgent():
    records = records_of(
        waiting("a"), waiting("b"), a_record(a_task("b1", depends_on=["b"]), Is.SKIPPED)
    )
    assert batch(records) == ("a", "b")


def test_no_more_start_than_slots_are_free():
    records = records_of(waiting("a"), waiting("b"), waiting("c"))
    assert batch(records, slots=2) == ("a", "b")
    assert batch(records, slots=0) == ()
    assert batch(records_of()) == ()
