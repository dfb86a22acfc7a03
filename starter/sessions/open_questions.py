"""What a session may wait for, as the CLI names it."""

from dataclasses import dataclass, field

from workflows.domain.ids import ChangesetId, Digest
from workflows.domain.session.query_answers import SessionView
from workflows.domain.session.session_modes import SessionPhase

_SENT_BACK = "reject_plan"


@dataclass(frozen=True)
class PlanAsk:
    """The plan waits."""

    question: str = field(default="", compare=False)
    """Which plan, as `plan_question` says."""


@dataclass(frozen=True)
class ChangesetAsk:
    """A changeset waits, with exactly these commits."""

    id: ChangesetId
    digest: Digest


Ask = PlanAsk | ChangesetAsk


def plan_question(session: SessionView) -> str:
    """Return what tells the plan that waits from all others; empty if none waits.

    A planner whose plan was sent back may keep the ids and titles of its tasks, so the number of
    rejections counts too.
    """
    if session.phase is not SessionPhase.AWAITING_PLAN:
        return ""
    sent_back = (d.count for d in session.decisions if d.what == _SENT_BACK and not d.refused)
    named = " ".join(f"{task.id} {task.title}" for task in session.tasks)
    return f"plan {sum(sent_back)} {named}"
