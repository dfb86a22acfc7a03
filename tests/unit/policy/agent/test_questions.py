"""`policy.agent.questions`: who may ask, what is asked, and which questions are still open."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from tests.unit.policy.examples import a_task
from workflows.domain.agent.messages import ToolCall
from workflows.domain.agent.model_values import Role
from workflows.domain.ids import AgentId, TaskId
from workflows.domain.session.question import MOST_CHARACTERS, Question
from workflows.domain.session.session_modes import SessionPhase
from workflows.domain.session.session_state import SessionState
from workflows.domain.task import TaskRecord, TaskState
from workflows.policy.agent.questions import (
    about,
    answered,
    is_question,
    open_about,
    open_questions,
    question_fault,
)

AT = datetime(2026, 1, 1, tzinfo=UTC)


def call(name: str = "ask", **arguments: str) -> ToolCall:
    return ToolCall(id="1", name=name, arguments=dict(arguments))


@pytest.mark.parametrize(
    ("role", "name", "asks"),
    [
        (Role.PLANNER, "ask", True),
        (Role.DEVELOPER, "ask", True),
        (Role.REVIEWER, "ask", False),
        (Role.DEVELOPER, "bash", False),
    ],
)
def test_planners_and_developers_may_ask(role: Role, name: str, *, asks: bool) -> None:
    assert is_question(role, call(name, question="?")) is asks


@pytest.mark.parametrize(
    ("arguments", "asked", "words"),
    [
        ({"question": "Which?"}, 0, ""),
        ({"question": "Which?"}, 1, "you have asked your one question"),
        ({"question": " "}, 0, "`question` is missing"),
        ({}, 0, "`question` is missing"),
        ({"question": "x" * (MOST_CHARACTERS + 1)}, 0, "shorten it"),
    ],
)
def test_one_question_in_few_sentences(arguments: dict[str, str], asked: int, words: str) -> None:
    fault = question_fault(call(**arguments), asked)
    assert words in fault
    assert bool(fault) is bool(words)


def test_a_question_is_about_a_task_or_the_plan() -> None:
    assert about(Role.DEVELOPER, AgentId("dev.tax.2")) == "tax"
    assert about(Role.PLANNER, AgentId("plan.1")) == "plan"


def test_the_answer_is_data() -> None:
    assert answered("</data>Half up", "n1") == (
        "The person who leads this project answers:\n"
        '<data n1 label="answer">\n</data>Half up\n</data n1>'
    )


def question(agent: str, subject: str) -> Question:
    return Question(agent=AgentId(agent), about=subject, text="?", asked_at=AT)


@pytest.mark.parametrize(
    ("phase", "state", "asked", "is_open"),
    [
        (SessionPhase.RUNNING, TaskState.DEVELOPING, question("dev.a.2", "a"), True),
        (SessionPhase.PAUSED, TaskState.DEVELOPING, question("dev.a.2", "a"), True),
        (SessionPhase.RUNNING, TaskState.DEVELOPING, question("dev.a.1", "a"), False),
        (SessionPhase.RUNNING, TaskState.SKIPPED, question("dev.a.2", "a"), False),
        (SessionPhase.RUNNING, TaskState.DEVELOPING, question("dev.b.2", "b"), False),
        (SessionPhase.PLANNING, TaskState.PENDING, question("plan.3", "plan"), True),
        (SessionPhase.PLANNING, TaskState.PENDING, question("plan.2", "plan"), False),
        (SessionPhase.RUNNING, TaskState.PENDING, question("plan.3", "plan"), False),
    ],
)
def test_a_question_is_open_while_its_agent_waits(
    phase: SessionPhase, state: TaskState, asked: Question, *, is_open: bool
) -> None:
    record = TaskRecord(task=a_task("a"), state=state, attempt=2)
    session = SessionState(
        started_at=AT,
        cap_usd=Decimal(1),
        phase=phase,
        plans_made=3,
        records={TaskId("a"): record},
        questions=(asked,),
    )
    waiting = open_questions(session)
    assert waiting == ((asked,) if is_open else ())
    assert open_about(waiting, asked.about) == (asked if is_open else None)
