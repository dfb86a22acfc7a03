"""`decision_checks`: what a person means, and what is refused before anything is sent."""

import pytest

from starter.console.command_errors import CommandError
from starter.console.exit_codes import ExitCode
from starter.decisions import decision_checks
from starter.sessions.open_questions import ChangesetAsk, PlanAsk
from starter.sessions.shown_session import ShownSession
from tests.unit.starter.shown import DIGEST, changeset, session, task
from workflows.domain.session.session_modes import SessionPhase

PLAN = session(phase=SessionPhase.AWAITING_PLAN, tasks=(task("a"),))
ONE = session(changesets=(changeset("c1", "awaiting_approval"), changeset("c2", "merged")))
TWO = session(
    changesets=(changeset("c1", "awaiting_approval"), changeset("c2", "awaiting_approval"))
)


def test_the_only_thing_that_waits_needs_no_name() -> None:
    assert decision_checks.chosen(PLAN, None, None) == PlanAsk()
    ask = decision_checks.chosen(ONE, None, None)
    assert isinstance(ask, ChangesetAsk)
    assert (ask.id, ask.digest) == ("c1", DIGEST)


def test_the_beginning_of_the_digest_is_enough() -> None:
    assert decision_checks.chosen(ONE, "c1", DIGEST[:8]) == decision_checks.chosen(ONE, None, None)


@pytest.mark.parametrize(
    ("shown", "what", "digest", "code", "words"),
    [
        (session(), None, None, ExitCode.STALE, "nothing waits .* running"),
        (session(), "plan", None, ExitCode.STALE, "no plan waits"),
        (TWO, None, None, ExitCode.USAGE, "several changesets wait: c1, c2"),
        (ONE, "nope", "", ExitCode.USAGE, "'nope' does not exist; the session has: c1, c2"),
        (ONE, "c2", None, ExitCode.STALE, "'c2' does not wait: it is merged"),
        (ONE, "c1", "ffff", ExitCode.STALE, "'ffff' is stale.*`diff c1`"),
        (ONE, "c1", "", ExitCode.STALE, "'' is stale"),
        (ONE, None, "ffff", ExitCode.STALE, "'ffff' is stale.*`diff c1`"),
        (PLAN, None, "ffff", ExitCode.USAGE, "--digest 'ffff' goes with a changeset"),
        (PLAN, "plan", "ffff", ExitCode.USAGE, "--digest 'ffff' goes with a changeset"),
        (
            session(phase=SessionPhase.AWAITING_PLAN, reason="no plan came"),
            None,
            None,
            ExitCode.STALE,
            "no plan to decide on .no plan came.",
        ),
        (session(outcome="stopped", live=False), None, None, ExitCode.STALE, "has ended: stopped"),
        (session(live=False), "plan", None, ExitCode.UNAVAILABLE, "no worker answers"),
    ],
)
def test_an_impossible_decision_is_refused_at_once(
    shown: ShownSession, what: str | None, digest: str | None, code: ExitCode, words: str
) -> None:
    with pytest.raises(CommandError, match=words) as refused:
        decision_checks.chosen(shown, what, digest)
    assert refused.value.code is code
