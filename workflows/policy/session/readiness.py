"""Which tasks may start, and which no longer can: dependencies, claims, priority, free slots.

The session schedules; this module decides for it. Records come as one mapping in plan order.

While a task runs, no other task holds overlapping claims, except for tasks that it is based on:
their work is in its base. If two tasks want the same paths, work that has begun goes first.
Nothing starves: a started task ends after finitely many attempts and releases its claims, so in a
finite plan each ready task eventually becomes the first that fits. Finished work that waits for
the rest of its changeset also holds its claims. Two changesets could thus wait for each other, so
these claims yield when nothing else can move.
"""

from collections.abc import Iterable, Mapping
from itertools import chain, islice
from typing import Final

from workflows.domain.ids import AgentId, ChangesetId, TaskId
from workflows.domain.session.session_config import SessionConfig
from workflows.domain.session.session_modes import Pacing
from workflows.domain.session.session_state import SessionState
from workflows.domain.task import TaskRecord
from workflows.domain.task import TaskState as Is
from workflows.policy.plan.changeset_forming import changeset_of
from workflows.policy.plan.dependency_graph import dependency_order
from workflows.policy.plan.held_claims import HeldClaims
from workflows.policy.session.task_states import FINAL

Records = Mapping[TaskId, TaskRecord]

_WAITING: Final = frozenset({Is.PENDING, Is.READY})
_VALID: Final = frozenset({Is.VALIDATED, Is.MERGING})
_IN_MOTION: Final = frozenset({Is.DEVELOPING, Is.DEVELOPED, Is.VALIDATING, Is.REJECTED, Is.MERGING})
_OVER: Final = frozenset({Is.MERGED, Is.SKIPPED})
_COMPLETE: Final = _OVER | {Is.VALIDATED}
_LOST: Final = FINAL - {Is.MERGED}
_BECAUSE: Final = {
    Is.FAILED: "failed",
    Is.BLOCKED: "is blocked",
    Is.SKIPPED: "was skipped",
    Is.CANCELLED: "was cancelled",
    Is.TIMED_OUT: "ran out of time",
}


def is_satisfied(dependency: TaskRecord, dependant: TaskRecord, pacing: Pacing) -> bool:
    """Tell whether a dependency is far enough for its dependant to start.

    | dependency                         | wave                       | flow |
    | merged                             | yes                        | yes  |
    | skipped, and a person waived it    | yes                        | yes  |
    | validated or merging               | in the same changeset only | yes* |
    | anything else                      | no                         | no   |

    * not from another changeset for a task that waits for the merge. A changeset merges only as a
    whole, so a task cannot wait for a merge within its own changeset.
    """
    if dependency.state is Is.MERGED:
        return True
    if dependency.state is Is.SKIPPED:
        return dependency.waived
    together = changeset_of(dependency.task) == changeset_of(dependant.task)
    is_early = pacing is Pacing.FLOW and not dependant.waits_for_merge
    return dependency.state in _VALID and (is_early or together)


def newly_ready(records: Records, pacing: Pacing) -> tuple[TaskId, ...]:
    """List the pending tasks whose dependencies are all satisfied, in plan order."""
    return tuple(
        task_id
        for task_id, record in records.items()
        if record.state is Is.PENDING and _stands(record, records, pacing)
    )


def newly_blocked(records: Records) -> tuple[tuple[TaskId, str], ...]:
    """List the waiting tasks that depend on a lost one, each with the reason in words.

    Returns:
        Dependencies first: a task in the list counts as blocked for the following ones.
    """
    lost = {i: _BECAUSE[r.state] for i, r in records.items() if _is_lost(r)}
    blocked: dict[TaskId, str] = {}
    for task_id in _order(records) if lost else ():
        record = records[task_id]
        cause = next((d for d in record.task.depends_on if d in lost), None)
        if cause is not None and record.state in _WAITING:
            blocked[task_id] = f"depends on {cause!r}, which {lost[cause]}"
            lost[task_id] = _BECAUSE[Is.BLOCKED]
    return tuple(blocked.items())


def newly_unblocked(records: Records) -> tuple[TaskId, ...]:
    """List the blocked tasks that no longer have a lost dependency, dependencies first."""
    lost = {task_id for task_id, record in records.items() if _is_lost(record)}
    free: list[TaskId] = []
    is_any_blocked = any(record.state is Is.BLOCKED for record in records.values())
    for task_id in _order(records) if is_any_blocked else ():
        record = records[task_id]
        if record.state is Is.BLOCKED and lost.isdisjoint(record.task.depends_on):
            lost.discard(task_id)
            free.append(task_id)
    return tuple(free)


def holds_claims(record: TaskRecord) -> bool:
    """Tell whether a task holds its claims: from its first attempt's start until it ends.

    A retried or reset task holds nothing until it starts again.
    """
    if record.state is Is.READY:
        return record.attempt > 0
    return record.state is not Is.PENDING and record.state not in FINAL


def next_batch(records: Records, pacing: Pacing, free_slots: int | None) -> tuple[TaskId, ...]:
    """Choose the ready tasks that start now.

    Args:
        records: every task of the plan, in plan order.
        pacing: what satisfies a dependency; a ready task waits if its dependency fell back.
        free_slots: how many may start; None for any number.

    Returns:
        By priority, then the length of the chain that waits for a task, then the number of tasks
        that do, then plan order. None overlaps another or a held claim.
    """
    ready = [r for r in records.values() if r.state is Is.READY and _stands(r, records, pacing)]
    if not ready or free_slots == 0:
        return ()
    kin = _Kinship(records)
    ready.sort(key=lambda record: (-record.task.priority, *kin.urgency(record.task.id)))
    batch = tuple(islice(_fitting(ready, records, kin, _holders(records)), free_slots))
    if batch or not _is_stuck(records):
        return batch
    return tuple(islice(_fitting(ready, records, kin, ()), 1))


class _Kinship:
    """Which task depends on which, over any number of steps; sets are the bits of an integer."""

    def __init__(self, records: Records) -> None:
        self._bit = {task_id: 1 << number for number, task_id in enumerate(records)}
        self._above: dict[TaskId, int] = {}
        self._behind = dict.fromkeys(records, 0)
        self._chain = dict.fromkeys(records, 0)
        order = _order(records)
        for task_id in order:
            self._above[task_id] = 0
            for dependency in records[task_id].task.depends_on:
                self._above[task_id] |= self._above[dependency] | self._bit[dependency]
        for task_id in reversed(order):
            waits = records[task_id].state not in FINAL
            for dependency in records[task_id].task.depends_on:
                self._behind[dependency] |= self._behind[task_id] | self._bit[task_id] * waits
                length = self._chain[task_id] + waits
                self._chain[dependency] = max(self._chain[dependency], length)

    def is_above(self, ancestor: TaskId, task: TaskId) -> bool:
        """Tell whether `task` depends on `ancestor`."""
        return bool(self._above[task] & self._bit[ancestor])

    def urgency(self, task: TaskId) -> tuple[int, int, int]:
        """Return the sort key: longest chain behind, most tasks behind, earliest in the plan."""
        behind = self._behind[task].bit_count()
        return -self._chain[task], -behind, self._bit[task].bit_length()


def _fitting(
    ready: Iterable[TaskRecord], records: Records, kin: _Kinship, holders: Iterable[TaskRecord]
) -> Iterable[TaskId]:
    """Yield, in order, the tasks that collide neither with a holder nor with an earlier one.

    A holder that waits for its next attempt gives way to another such holder. Otherwise two that
    overlap (one was retried after it released its claims) would wait for each other for ever.
    """
    busy = HeldClaims(r.task for r in holders if r.state is not Is.READY)
    waiting = HeldClaims(r.task for r in holders if r.state is Is.READY)
    chosen: set[TaskId] = set()
    for record in ready:
        rivals = busy.colliding(record.task)
        if not holds_claims(record):
            rivals = chain(rivals, waiting.colliding(record.task))
        if all(r not in chosen and _gives_way(records[r], record, kin) for r in rivals):
            chosen.add(record.task.id)
            busy.add(record.task)
            yield record.task.id


def _gives_way(holder: TaskRecord, record: TaskRecord, kin: _Kinship) -> bool:
    """Tell whether a holder lets an overlapping task start at the same time.

    A task that depends on it is based on its work, or waits for its rework. Within one changeset
    a task cannot wait for another's merge.
    """
    if kin.is_above(holder.task.id, record.task.id):
        return holder.state in _VALID
    if kin.is_above(record.task.id, holder.task.id):
        return holder.state is Is.READY
    together = changeset_of(holder.task) == changeset_of(record.task)
    return together and holder.state is Is.VALIDATED


def _holders(records: Records) -> tuple[TaskRecord, ...]:
    return tuple(record for record in records.values() if holds_claims(record))


def _is_stuck(records: Records) -> bool:
    """Tell whether nothing moves: no work under way and no changeset that could merge."""
    if any(record.state in _IN_MOTION for record in records.values()):
        return False
    members: dict[ChangesetId, list[TaskRecord]] = {}
    for record in records.values():
        members.setdefault(changeset_of(record.task), []).append(record)
    return not any(_could_merge(group, records) for group in members.values())


def _could_merge(members: list[TaskRecord], records: Records) -> bool:
    """Tell whether a changeset lacks at most an approval."""
    work = [record for record in members if record.state is Is.VALIDATED]
    if not work or any(record.state not in _COMPLETE for record in members):
        return False
    needed = {d for r in work for d in r.task.depends_on}.difference(r.task.id for r in members)
    return all(records[d].state in _OVER for d in needed)


def _stands(record: TaskRecord, records: Records, pacing: Pacing) -> bool:
    return all(is_satisfied(records[d], record, pacing) for d in record.task.depends_on)


def _is_lost(record: TaskRecord) -> bool:
    """Tell whether a task ended so that its dependants cannot start."""
    return record.state in _LOST and not (record.state is Is.SKIPPED and record.waived)


def _order(records: Records) -> tuple[TaskId, ...]:
    return dependency_order({task_id: r.task.depends_on for task_id, r in records.items()})


# --- agents that hold -----------------------------------------------------------------------------


def held(state: SessionState) -> tuple[TaskId, ...]:
    """Return the tasks whose agent holds until a person resumes: its key or model is refused."""
    tasks = (_task_of(state, each.agent) for each in state.holds)
    return tuple(dict.fromkeys(task for task in tasks if task is not None))


def _task_of(state: SessionState, agent: AgentId) -> TaskId | None:
    """Return the task that an agent still works on; None: it ended, or is a planner."""
    role, _, rest = agent.partition(".")
    task, attempt, *_ = *rest.split("."), ""
    record = state.records.get(TaskId(task))
    works = {"dev": Is.DEVELOPING, "review": Is.VALIDATING}
    if record is None or (str(record.attempt), record.state) != (attempt, works.get(role)):
        return None
    return TaskId(task)


def is_at_work(state: SessionState, config: SessionConfig) -> bool:
    """Tell whether an agent or reviewer works or will get a slot, other than those that hold.

    Each one that holds keeps its slot: no more can hold than may work.
    """
    holding, limits = held(state), config.concurrency
    stages = ((Is.DEVELOPING, limits.develop), (Is.VALIDATING, limits.validation))
    for stage, slots in stages:
        tasks = [task for task, record in state.records.items() if record.state is stage]
        if min(len(tasks), slots) > sum(task in holding for task in tasks):
            return True
    return False


def standstill(state: SessionState, config: SessionConfig) -> str:
    """Return why nothing moves until a person resumes; empty if something does."""
    is_merging = any(each.state is Is.MERGING for each in state.records.values())
    if not held(state) or is_merging or is_at_work(state, config):
        return ""
    return state.holds[-1].text
