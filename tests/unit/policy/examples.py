"""Small values of the domain for tests: each takes only what its test is about."""

from collections.abc import Iterable, Mapping
from decimal import Decimal

from workflows.domain.agent.model_values import ModelFacts, Prices
from workflows.domain.ids import Commit, TaskId, Tree
from workflows.domain.plan import Plan, Task
from workflows.domain.repository import Base
from workflows.domain.session.session_state import Prepared, ResolvedRoutes
from workflows.domain.task import TaskRecord, TaskState

PRICES = Prices(
    input_usd=Decimal(3),
    cached_input_usd=Decimal("0.3"),
    cache_write_usd=Decimal("3.75"),
    output_usd=Decimal(15),
)


def a_task(
    name: str,
    claims: Iterable[str] = (),
    depends_on: Iterable[str] = (),
    group: str | None = None,
    priority: int = 0,
) -> Task:
    return Task(
        id=TaskId(name),
        title=f"do {name}",
        acceptance_criteria=("it works",),
        claims=tuple(claims) or (f"only/{name}",),
        depends_on=tuple(TaskId(d) for d in depends_on),
        group=None if group is None else TaskId(group),
        priority=priority,
    )


def a_plan(*tasks: Task) -> Plan:
    return Plan(tasks=tasks)


def a_record(task: Task, state: TaskState = TaskState.PENDING, **facts: object) -> TaskRecord:
    return TaskRecord(task=task).model_copy(update={"state": state, **facts})


def a_preparation(base: str = "b" * 40, sandbox: str = "bubblewrap 0.8.0") -> Prepared:
    return Prepared(
        base=Base(
            repository="/r",
            key="k",
            commit=Commit(base),
            tree=Tree("e" * 40),
            branch="main",
            files=1,
            tree_bytes=1,
        ),
        host_queue="host.1",
        sandbox=sandbox,
        routes=ResolvedRoutes(planner=(), developer=(), reviewer=()),
        gates=(),
        brief="",
    )


def records_of(*records: TaskRecord) -> Mapping[TaskId, TaskRecord]:
    return {record.task.id: record for record in records}


def a_model(family: str, prices: Prices | None = PRICES) -> ModelFacts:
    return ModelFacts(
        provider="scripted",
        model=f"{family}-1",
        family=family,
        window_tokens=100_000,
        max_output_tokens=8_000,
        prices=prices,
    )
