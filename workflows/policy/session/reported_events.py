"""Reports from inside the session: the ledger's events, and agents' questions to the person."""

from datetime import datetime

from pydantic import JsonValue, ValidationError

from workflows.domain.budget import LedgerEvent
from workflows.domain.ids import TaskId
from workflows.domain.session.notice import NoticeKind
from workflows.domain.session.question import Question, QuestionAsked
from workflows.domain.session.session_config import SessionConfig
from workflows.domain.session.session_state import SessionState
from workflows.policy.agent.questions import DECIDE_YOURSELF
from workflows.policy.session import phase_changes, wave_outcomes
from workflows.policy.session.effects import Answer, Applied

QUESTION_ASKED = "question_asked"
"""A signal from agents; persons do not send it."""
_NOTICES = {
    "warning": NoticeKind.CAP_WARNING,
    "cap_reached": NoticeKind.CAP_REACHED,
    "burn_rate": NoticeKind.BURN_RATE,
    "key_refused": NoticeKind.PROVIDER,
}


def take(state: SessionState, config: SessionConfig, event: LedgerEvent, at: datetime) -> Applied:
    """Take up one event.

    | event                             | notice | session halts |
    |-----------------------------------|--------|---------------|
    | closed                            |        |               |
    | cap_reached, of a cap since raised|        |               |
    | warning                           | yes    |               |
    | cap_reached, burn_rate, key_refused | yes  | yes           |
    """
    state = state.evolve(ledger_usd=event.settled_usd)
    is_out_of_date = event.kind == "cap_reached" and event.cap_usd < state.cap_usd
    if event.kind == "closed" or is_out_of_date:
        return Applied(state=state)
    state = wave_outcomes.notice(state, _NOTICES[event.kind], "", event.text, at)
    if event.kind == "warning":
        return Applied(state=state)
    state = state.evolve(is_cap_reached=state.is_cap_reached or event.kind == "cap_reached")
    return phase_changes.halt(state, config, event.text)


def take_question(
    state: SessionState, config: SessionConfig, payload: JsonValue, at: datetime
) -> Applied:
    """Keep an agent's question until it is answered; if no one is there to answer, answer it.

    Args:
        state: before the question.
        config: the session's own.
        payload: a `QuestionAsked` as JSON.
        at: now, by the workflow's clock.
    """
    try:
        asked = QuestionAsked.model_validate(payload)
    except ValidationError:
        text = "'question_asked' was not understood: only an agent of this session sends it"
        noticed = wave_outcomes.notice(state, NoticeKind.BAD_SIGNAL, "question_asked", text, at)
        return Applied(state=noticed, refused=text)
    if config.approvals.questions == "auto":
        answer = Answer(task=TaskId(asked.about), text=DECIDE_YOURSELF)
        return Applied(state=state, effects=(answer,))
    question = Question(agent=asked.agent, about=asked.about, text=asked.text, asked_at=at)
    others = (each for each in state.questions if each.agent != asked.agent)
    state = state.evolve(questions=(*others, question))
    text = f"{asked.agent} asks: {asked.text}"[:1_000]
    return Applied(state=wave_outcomes.notice(state, NoticeKind.QUESTION, asked.agent, text, at))
