"""What can be judged in a plan although other parts of it have the wrong shape.

This reports all faults at once: a field that cannot be read is treated as having no fault.
"""

import re
from collections.abc import Collection, Iterator, Mapping

from pydantic import JsonValue, ValidationError

from workflows.domain.plan import ID_PATTERN, MAX_TASKS, Place, Task
from workflows.policy.plan.graph_faults import Placed

_ORDERING = frozenset({"depends_on", "group"})
"""Fields whose value matters beyond their own faults."""


def readable_tasks(submitted: JsonValue, error: ValidationError) -> tuple[Placed, ...]:
    """Return the tasks of a plan as far as they can be read.

    Args:
        submitted: the invalid plan.
        error: why it is invalid.
    """
    tasks = submitted.get("tasks") if isinstance(submitted, Mapping) else None
    if not isinstance(tasks, list) or len(tasks) > MAX_TASKS:
        return ()
    broken = {each["loc"][:3] for each in error.errors(include_url=False, include_input=False)}
    return tuple(_readable(tasks, broken))


def task_at(submitted: JsonValue, place: Place) -> str | None:
    """Return the id of the task at a place; None if there is no task or it has no valid id.

    Args:
        submitted: a plan, valid or not.
        place: a place in it.
    """
    tasks = submitted.get("tasks") if isinstance(submitted, Mapping) else None
    match place:
        case ("tasks", int(number), _, *_) if isinstance(tasks, list):
            task = tasks[number]
            name = task.get("id") if isinstance(task, Mapping) else None
            return name if isinstance(name, str) and re.fullmatch(ID_PATTERN, name) else None
        case _:
            return None


def _readable(tasks: list[JsonValue], broken: Collection[Place]) -> Iterator[Placed]:
    for number, fields in enumerate(tasks):
        if not isinstance(fields, Mapping):
            continue
        wrong = {name for name in fields if ("tasks", number, name) in broken}
        # Unique in the plan, so that it overlaps with nothing.
        good: dict[str, JsonValue] = {
            "title": "-",
            "acceptance_criteria": ["-"],
            "claims": [f"-{number}"],
            **{name: fields[name] for name in fields if name not in wrong},
        }
        if "id" not in good:
            continue
        yield Placed(number, Task.model_validate(good), is_whole=not wrong & _ORDERING)
