"""Whether a submission can be accepted as it is, or what is wrong with it.

A reviewer's submission is always accepted here. A faulty one becomes an abstention, as
`policy.review.verdict_rules` decides, so that repairs cannot talk a reviewer into a pass.
"""

from typing import Final

from pydantic import JsonValue

from workflows.domain.agent.model_values import Role
from workflows.domain.plan import Plan
from workflows.policy.plan.plan_check import read_plan

REPAIRS: Final = {Role.PLANNER: 2, Role.DEVELOPER: 1, Role.REVIEWER: 1}
"""How often each role may submit again after a refused submission.

A reviewer's is refused only if one answer holds verdicts that contradict each other."""


def fault(role: Role, arguments: dict[str, JsonValue]) -> str | None:
    """Say what is wrong with a submission, for the agent to fix; None: accept it.

    Args:
        role: who submits.
        arguments: those of `submit`, `submit_plan` or `submit_verdict`.
    """
    if role is Role.REVIEWER:
        return None
    if role is Role.DEVELOPER:
        has_summary = isinstance(arguments.get("summary"), str)
        return None if has_summary else "`summary` is missing: say in a few sentences what was done"
    plan = read_plan(arguments)
    if isinstance(plan, Plan):
        return None
    listed = "\n".join(f"- {each.text}" for each in plan)
    return f"The plan was refused. Fix all of this and submit it again:\n{listed}"
