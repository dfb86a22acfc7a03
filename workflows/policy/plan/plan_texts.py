"""Whether a text of a plan can be shown to the person who approves it as it is meant.

Pure. Any language and any script is welcome; what is refused has no look of its own: control
characters, characters that turn the direction of writing, invisible ones that could hide words.
"""

import re
from collections.abc import Iterator
from typing import Final
from unicodedata import name

from workflows.domain.plan import Plan, Task
from workflows.policy.text.visible_text import IN_A_PLAN, SHOWING_NOTHING

_BREAKS: Final = re.compile(r"[\n\r\t]")


def plan_text_faults(plan: Plan) -> Iterator[str]:
    """Name the texts that cannot be shown as they are.

    Args:
        plan: a plan of the right shape.

    Yields:
        One sentence for each: which text, what is wrong, what to do.
    """
    if fault := _fault(plan.summary, one_line=False, needed=False):
        yield f"summary: {fault}"
    for task in plan.tasks:
        yield from (f"task {task.id!r}, {where}: {fault}" for where, fault in _task_faults(task))


def _task_faults(task: Task) -> Iterator[tuple[str, str]]:
    if fault := _fault(task.title, one_line=True, needed=True):
        yield "title", fault
    if fault := _fault(task.description, one_line=False, needed=False):
        yield "description", fault
    for number, criterion in enumerate(task.acceptance_criteria, 1):
        if fault := _fault(criterion, one_line=False, needed=True):
            yield f"acceptance criterion {number}", fault


def _fault(text: str, *, one_line: bool, needed: bool) -> str | None:
    if needed and all(c in SHOWING_NOTHING for c in text):
        return "it is empty: say it in words"
    if one_line and _BREAKS.search(text):
        return "it is more than one line: write one"
    if all(part.isprintable() for part in _BREAKS.split(text)):
        return None
    acting = next((c for c in sorted(set(text)) if c in IN_A_PLAN), None)
    if acting is None:
        return None
    code = f"U+{ord(acting):04X}"
    return f"it holds {code} ({name(acting, 'a control character')}): leave it out"
