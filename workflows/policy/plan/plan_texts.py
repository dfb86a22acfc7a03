"""Whether a plan's text can be shown as it is to the person who approves it.

Pure. Any language and script is allowed. Refused are characters that show nothing themselves:
controls, characters that change the direction of writing, and invisible ones that could hide words.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final
from unicodedata import name

from workflows.domain.plan import Place, Plan, PlanFault, Task
from workflows.policy.text.visible_text import IN_A_PLAN, SHOWING_NOTHING

_BREAKS: Final = re.compile(r"[\n\r\t]")


def plan_text_faults(plan: Plan, numbers: Sequence[int]) -> Iterator[PlanFault]:
    """List the texts that cannot be shown as they are.

    Args:
        plan: a plan of the right shape.
        numbers: the indexes of its tasks in their document, from 0.

    Yields:
        One sentence for each: which text, what is wrong, what to do.
    """
    if fault := _fault(plan.summary, one_line=False, needed=False):
        yield PlanFault(kind="text", text=f"summary: {fault}", place=("summary",))
    for number, task in zip(numbers, plan.tasks, strict=True):
        for place, where, fault in _task_faults(task):
            yield PlanFault(
                kind="text",
                text=f"task {task.id!r}, {where}: {fault}",
                place=("tasks", number, *place),
            )


def _task_faults(task: Task) -> Iterator[tuple[Place, str, str]]:
    if fault := _fault(task.title, one_line=True, needed=True):
        yield ("title",), "title", fault
    if fault := _fault(task.description, one_line=False, needed=False):
        yield ("description",), "description", fault
    for number, criterion in enumerate(task.acceptance_criteria):
        if fault := _fault(criterion, one_line=False, needed=True):
            yield (
                ("acceptance_criteria", number),
                f"acceptance criterion {number + 1}",
                fault,
            )


def _fault(text: str, *, one_line: bool, needed: bool) -> str | None:
    if needed and all(c in SHOWING_NOTHING for c in text):
        return "it is empty: write some text"
    if one_line and _BREAKS.search(text):
        return "it is more than one line: write one"
    if all(part.isprintable() for part in _BREAKS.split(text)):
        return None
    acting = next((c for c in sorted(set(text)) if c in IN_A_PLAN), None)
    if acting is None:
        return None
    code = f"U+{ord(acting):04X}"
    return f"it holds {code} ({name(acting, 'a control character')}): leave it out"
