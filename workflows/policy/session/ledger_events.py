"""What the ledger tells the session: what is spent, and that a cap, a rate or a key stops it."""

from datetime import datetime

from workflows.domain.budget import LedgerEvent
from workflows.domain.session.notice import NoticeKind
from workflows.domain.session.session_config import SessionConfig
from workflows.domain.session.session_state import SessionState
from workflows.policy.session import phase_changes, wave_outcomes
from workflows.policy.session.effects import Applied

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
