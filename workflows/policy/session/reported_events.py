"""Reports from inside the session: the ledger's events, and agents' questions to the person."""

from collections.abc import Sequence
from datetime import datetime

from pydantic import JsonValue, ValidationError

from workflows.domain.budget import LedgerEvent, ProviderFault
from workflows.domain.ids import TaskId
from workflows.domain.session.notice import NoticeKind
from workflows.domain.session.notification import MessageLost
from workflows.domain.session.question import Question, QuestionAsked
from workflows.domain.session.session_config import SessionConfig
from workflows.domain.session.session_modes import SessionPhase
from workflows.domain.session.session_state import SessionState
from workflows.domain.session.wave_values import ItemReport, Refused, Validated
from workflows.policy.agent.questions import DECIDE_YOURSELF
from workflows.policy.session import phase_changes, wave_outcomes
from workflows.policy.session.effects import Answer, Applied, TellWaves

QUESTION_ASKED = "question_asked"
"""A signal from agents; persons do not send it."""
_NOTICES = {
    "warning": NoticeKind.CAP_WARNING,
    "cap_reached": NoticeKind.CAP_REACHED,
    "burn_rate": NoticeKind.BURN_RATE,
    "provider_fault": NoticeKind.PROVIDER,
    "auto_pause": NoticeKind.AUTO_PAUSE,
}


Event = LedgerEvent | ItemReport | MessageLost
"""What the ledger, the waves and the notifier report while they run."""


def take(state: SessionState, config: SessionConfig, event: Event, at: datetime) -> Applied:
    """Take up one event of the ledger by this table.

    An item counts like the wave's result; a lost message becomes a notice.

    | event                             | notice | session halts                         |
    |-----------------------------------|--------|---------------------------------------|
    | closed                            |        |                                       |
    | cap_reached, of a cap since raised|        |                                       |
    | warning, auto_pause               | yes    |                                       |
    | provider_fault, no agent holds    | yes    |                                       |
    | provider_fault, an agent holds    | yes    | once no other agent is at work        |
    | cap_reached, burn_rate            | yes    | yes                                   |
    """
    if isinstance(event, ItemReport):
        return Applied(state=_take_item(state, event, at))
    if isinstance(event, MessageLost):
        return Applied(state=_noticed(state, event, at))
    state = state.evolve(ledger_usd=event.settled_usd)
    is_out_of_date = event.kind == "cap_reached" and event.cap_usd < state.cap_usd
    if event.kind == "closed" or is_out_of_date:
        return Applied(state=state)
    subject = event.fault.model if event.fault else ""
    if event.hold is not None:
        subject = event.hold.subject
        state = state.evolve(auto_paused_until=event.hold.until)
    state = wave_outcomes.notice(state, _NOTICES[event.kind], subject, event.text, at)
    if event.fault is not None:
        return _take_fault(state, config, event.fault)
    if event.kind in {"warning", "auto_pause"}:
        return Applied(state=state)
    state = state.evolve(is_cap_reached=state.is_cap_reached or event.kind == "cap_reached")
    return phase_changes.halt(state, config, event.text)


def has_closed(events: Sequence[Event]) -> bool:
    """Tell whether the ledger said its last word."""
    return any(isinstance(each, LedgerEvent) and each.kind == "closed" for each in events)


def last_words(state: SessionState, events: Sequence[Event], at: datetime) -> SessionState:
    """Take up what still counts once the session has ended.

    Args:
        state: the session's last.
        events: all that is not taken up yet.
        at: now, by the workflow's clock.

    Returns:
        The state with the last figure of what was spent, and a notice of each lost message.
    """
    for event in events:
        if isinstance(event, LedgerEvent):
            state = state.evolve(ledger_usd=event.settled_usd)
        elif isinstance(event, MessageLost):
            state = _noticed(state, event, at)
    return state


def _noticed(state: SessionState, lost: MessageLost, at: datetime) -> SessionState:
    return wave_outcomes.notice(state, NoticeKind.NOTIFICATION, "", lost.text, at)


def _take_item(state: SessionState, report: ItemReport, at: datetime) -> SessionState:
    item = report.item
    if isinstance(item, Validated | Refused):
        return wave_outcomes.validate_item(state, item, at)
    return wave_outcomes.develop_item(state, item, at)


def _take_fault(state: SessionState, config: SessionConfig, fault: ProviderFault) -> Applied:
    """Let the others finish what they do; a planner has no others."""
    if not fault.holds:
        return Applied(state=state)
    others = (each for each in state.holds if each.agent != fault.agent)
    state = state.evolve(holds=(*others, fault))
    if phase_changes.phase_beneath(state) is not SessionPhase.RUNNING:
        return phase_changes.halt(state, config, fault.text)
    return Applied(state=state, effects=(TellWaves(signal="report"),))


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
