"""Whether a plan can be carried out.

Parses what the planner or a person wrote, and reports every fault at once in words that help to
fix it. Does not judge whether the plan is good: the person who approves it does.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from pydantic import JsonValue, ValidationError

from workflows.domain.plan import Plan, PlanFault
from workflows.policy.plan.graph_faults import MAX_FAULTS, Placed, graph_faults
from workflows.policy.plan.json_shape import found_faults
from workflows.policy.plan.partial_plan import readable_tasks, task_at
from workflows.policy.plan.plan_texts import plan_text_faults


def read_plan(submitted: JsonValue) -> Plan | tuple[PlanFault, ...]:
    """Parse a submitted plan.

    Args:
        submitted: the arguments of `submit_plan`, or the JSON of a person's plan.

    Returns:
        A plan without faults, or at most `MAX_FAULTS` reasons why it is not one; if there are more,
        the last one says so.
    """
    try:
        plan = Plan.model_validate(submitted)
    except ValidationError as error:
        return _bounded((*_shape(submitted, error), *faults_beside(submitted, error)))
    return plan_faults(plan) or plan


def plan_faults(plan: Plan) -> tuple[PlanFault, ...]:
    """Judge a plan's texts, graph and claims.

    Args:
        plan: a plan of the right shape.

    Returns:
        At most `MAX_FAULTS` faults, the simplest kind first; empty for a valid plan.
    """
    return _bounded(_faults(plan, [Placed(n, task) for n, task in enumerate(plan.tasks)]))


def faults_beside(submitted: JsonValue, error: ValidationError) -> Iterator[PlanFault]:
    """List what else is wrong with a plan of the wrong shape, as far as it can be read.

    Args:
        submitted: the invalid plan.
        error: why it is invalid.
    """
    if readable := readable_tasks(submitted, error):
        yield from _faults(Plan(tasks=tuple(each.task for each in readable)), readable)


def _faults(plan: Plan, placed: Sequence[Placed]) -> Iterator[PlanFault]:
    yield from plan_text_faults(plan, [each.number for each in placed])
    yield from graph_faults(placed)


def _shape(submitted: JsonValue, error: ValidationError) -> Iterator[PlanFault]:
    for place, text in found_faults(error):
        task = task_at(submitted, place)
        yield PlanFault(kind="shape", text=f"{text} (task {task!r})" if task else text, place=place)


def _bounded(faults: Iterable[PlanFault]) -> tuple[PlanFault, ...]:
    found = tuple(islice(faults, MAX_FAULTS + 1))
    if len(found) <= MAX_FAULTS:
        return found
    more = PlanFault(kind="more", text="and more faults than fit here: fix these first")
    return (*found[: MAX_FAULTS - 1], more)


def brief(faults: tuple[PlanFault, ...], most: int) -> str:
    """Write faults as one line: the first ones, and the number of the others."""
    listed = [fault.text for fault in faults[:most]]
    rest = [f"and {len(faults) - most} faults more"] if len(faults) > most else []
    return "; ".join([*listed, *rest])
