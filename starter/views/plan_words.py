"""A plan and one task of it, in words: the graph as text, and a task's whole record.

Pure: values in, lines out. Foreign text passes `shown` or `one_line`.
"""

from collections.abc import Sequence

from starter.console.terminal import one_line, shown
from workflows.domain.agent.agent_settings import AgentSettings
from workflows.domain.plan import Plan, Task
from workflows.domain.task import TaskRecord
from workflows.policy.agent.agent_limits import most_usd
from workflows.policy.decision.plan_edits import difference
from workflows.policy.gates.green_rule import why_less
from workflows.policy.money.amounts_in_words import counted, money
from workflows.policy.plan.dependency_graph import dependency_order


def plan(whole: Plan, agents: AgentSettings) -> list[str]:
    """Return a plan with its summary, its tasks as a graph, and its highest cost."""
    summary = [*_text(whole.summary), ""] if whole.summary.strip() else []
    return [*summary, *tasks(whole.tasks), "", most_money(whole.tasks, agents)]


def edit(old: Plan | None, new: Plan) -> str:
    """Return what was sent: a new plan, or the changes to an existing one."""
    count = counted(len(new.tasks), "task")
    changes = difference(old, new).words() if old is not None else ""
    return f"plan of {count}, approved with it{f' ({changes})' if changes else ''}"


def most_money(planned: Sequence[Task], agents: AgentSettings) -> str:
    """Return how much the tasks can cost by the limits of their agents."""
    usd = most_usd(planned, agents)
    return f"  At most {money(usd)} for one attempt at each of {counted(len(planned), 'task')}"


def tasks(planned: Sequence[Task]) -> list[str]:
    """Return the tasks, each below its dependencies and indented by the length of its chain.

    Args:
        planned: a plan without faults.
    """
    known = {task.id: task for task in planned}
    depth: dict[str, int] = {}
    lines: list[str] = []
    for name in dependency_order({task.id: task.depends_on for task in planned}):
        above = [depth[each] for each in known[name].depends_on if each in depth]
        depth[name] = max(above, default=-1) + 1
        lines += _planned(known[name], "  " * min(depth[name], 8))
    return lines


def _planned(task: Task, indent: str) -> list[str]:
    after = f", after {', '.join(task.depends_on)}" if task.depends_on else ""
    group = f", with group {task.group}" if task.group else ""
    risk = f", risk {task.risk}" if task.risk != "low" else ""
    mark = "+- " if indent else "*  "
    return [
        f"  {indent}{mark}{task.id}  {one_line(task.title, 200)} ({task.kind}{after}{group}{risk})",
        f"  {indent}     writes {one_line(', '.join(task.claims), 300)}",
        *(f"  {indent}     - {one_line(each, 300)}" for each in task.acceptance_criteria),
    ]


def _judged(found: TaskRecord) -> dict[str, str]:
    """Return which gates judged a task's work, and which tests the work weakens."""
    if found.judgement is None:
        return {}
    less = one_line(why_less(found.judgement), 400)
    by = shown(", ".join(found.judgement.by))
    text = f"judged by: {by}{f' (less: {less})' if less else ''}" if by else f"not judged: {less}"
    tests = {"Tests": one_line("; ".join(found.weakened), 1_000)} if found.weakened else {}
    return {"Gates": text, **tests}


def record(found: TaskRecord, marks: Sequence[str] = ()) -> list[str]:
    """Return all that is known of one task.

    Args:
        found: the task.
        marks: lines about its session that belong to its facts.
    """
    task = found.task
    facts = {
        "Task": task.id,
        "Title": one_line(task.title, 200),
        "State": f"{found.state}{f' ({shown(found.reason)})' if found.reason else ''}",
        **_judged(found),
        "Attempt": f"{found.attempt} of {found.attempts_allowed} allowed",
        "Kind": f"{task.kind}, risk {task.risk}, priority {task.priority}",
        "After": ", ".join(task.depends_on) or "(nothing)",
        "Writes": one_line(", ".join(task.claims), 2_000),
        "Spent": money(found.cost_usd),
        "Base": found.base or "(not started)",
        "Commit": found.commit or "(nothing submitted)",
    }
    lines = [*(f"{name:<11}{text}" for name, text in facts.items()), *marks]
    lines += _titled("Description", _text(task.description))
    lines += _titled(
        "Criteria", [f"  - {one_line(each, 500)}" for each in task.acceptance_criteria]
    )
    lines += _titled("Notes for its agent", [line for note in found.notes for line in _text(note)])
    return lines + _titled("Not heard yet", [line for each in found.steers for line in _text(each)])


def _titled(title: str, lines: Sequence[str]) -> list[str]:
    return ["", title, *lines] if lines else []


def _text(text: str) -> list[str]:
    return [f"  {shown(line)}" for line in text.strip().split("\n")] if text.strip() else []
