"""The one question that a planner or a developer may ask the person, and which are open.

While its question is open an agent waits: it spends nothing, and the wait is not its time.
"""

from collections.abc import Sequence
from typing import Final

from workflows.domain.agent.messages import ToolCall
from workflows.domain.agent.model_values import Role
from workflows.domain.ids import AgentId, TaskId
from workflows.domain.session.question import MOST_CHARACTERS, Question
from workflows.domain.session.session_modes import SessionPhase
from workflows.domain.session.session_state import SessionState
from workflows.domain.task import TaskState
from workflows.policy.agent.opening_messages import data

ASK: Final = "ask"
PLAN: Final = "plan"
"""The subject of a planner's question; a developer's question has its task as subject."""
DECIDE_YOURSELF: Final = (
    "No one is there to answer. Decide yourself, and say in your submission what you decided."
)
_ASKING: Final = frozenset({Role.PLANNER, Role.DEVELOPER})


def is_question(role: Role, call: ToolCall) -> bool:
    """Tell whether a call asks the person; for other roles `ask` is an unknown tool."""
    return role in _ASKING and call.name == ASK and call.malformed is None


def question_fault(call: ToolCall, asked: int) -> str:
    """Say why a question is not put to the person; empty if it is.

    Args:
        call: of the tool `ask`.
        asked: how many questions the agent has already asked.
    """
    text = call.arguments.get("question")
    if not isinstance(text, str) or not text.strip():
        return "`question` is missing: say in a few sentences what you need to know"
    if len(text) > MOST_CHARACTERS:
        return f"the question has over {MOST_CHARACTERS} characters: shorten it"
    if asked:
        return "you have asked your one question: decide yourself, and say so in your submission"
    return ""


def about(role: Role, agent: AgentId) -> str:
    """Return the subject of an agent's question: `plan`, or its task's id."""
    return PLAN if role is Role.PLANNER else agent.split(".")[1]


def answered(text: str, nonce: str) -> str:
    """Return the text for the agent: the person's words, as data."""
    return f"The person who leads this project answers:\n{data('answer', text, nonce)}"


def open_questions(state: SessionState) -> tuple[Question, ...]:
    """Return the questions whose agents still wait, the oldest first."""
    return tuple(each for each in state.questions if _is_open(state, each))


def _is_open(state: SessionState, question: Question) -> bool:
    if question.about == PLAN and question.agent == f"plan.{state.plans_made}":
        return (state.resumes_to or state.phase) is SessionPhase.PLANNING
    record = state.records.get(TaskId(question.about))
    return (
        record is not None
        and record.state is TaskState.DEVELOPING
        and question.agent == f"dev.{question.about}.{record.attempt}"
    )


def open_about(questions: Sequence[Question], subject: str) -> Question | None:
    """Return the question about a task or the plan; None: none is open."""
    return next((each for each in questions if each.about == subject), None)
