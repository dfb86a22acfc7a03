"""A person's decisions: checked against the session's state, then turned into signals; pure.

An approval names exactly what it approves. A stale, unknown or settled subject is reported at once,
and nothing is sent. The session checks again, because its state may change in the meantime.
"""

from collections.abc import Sequence

from pydantic import BaseModel

from starter.console.command_errors import CommandError
from starter.console.exit_codes import ExitCode
from starter.sessions.open_questions import Ask, ChangesetAsk, PlanAsk, plan_question
from starter.sessions.shown_session import ShownSession
from starter.views import session_words
from workflows.domain.ids import ChangesetId
from workflows.domain.line_comment import LineComment
from workflows.domain.session.decision_inputs import (
    ApproveChangeset,
    ApprovePlan,
    RejectChangeset,
    RejectPlan,
)
from workflows.domain.session.session_modes import SessionPhase

PLAN = "plan"


def chosen(session: ShownSession, wanted: str | None, digest: str | None) -> Ask:
    """Return what a person decides on.

    Args:
        session: its view.
        wanted: `plan` or a changeset's id; None: the only thing that waits.
        digest: the beginning of the changeset's digest that the person saw; None: any.

    Raises:
        CommandError: nothing waits, several do, or the subject is unknown, settled or stale.
    """
    _check_open(session)
    if wanted is None:
        wanted = _only(session)
    if wanted != PLAN:
        return changeset(session, wanted, digest)
    if digest is not None:
        raise CommandError(
            f"--digest {digest!r} goes with a changeset, and the plan waits; decide without it, or "
            "send the plan that you saw with `plan edit --file FILE --digest DIGEST`"
        )
    return plan(session)


def plan(session: ShownSession) -> PlanAsk:
    """Return the request for the plan.

    Raises:
        CommandError: no plan waits.
    """
    if session.phase is not SessionPhase.AWAITING_PLAN:
        raise CommandError(
            f"no plan waits in session {session.session!r}: it is {session_words.state(session)}",
            ExitCode.STALE,
        )
    if not session.tasks:
        raise CommandError(
            f"there is no plan to decide on ({session.reason}); "
            '`reject plan --notes "..."` asks for a new one',
            ExitCode.STALE,
        )
    return PlanAsk(plan_question(session))


def editable(session: ShownSession) -> None:
    """Check that a plan can be brought or changed now: while it is awaited, or worked on.

    Raises:
        CommandError: the session has ended, does not answer, or has no plan yet.
    """
    _check_open(session)
    if session.phase in {SessionPhase.PREPARING, SessionPhase.PLANNING}:
        raise CommandError(
            f"session {session.session!r} has no plan yet: it is {session_words.state(session)}",
            ExitCode.STALE,
        )


def changeset(session: ShownSession, wanted: str, digest: str | None) -> ChangesetAsk:
    """Return the request for one changeset.

    Raises:
        CommandError: it is unknown, does not wait, or now has other commits.
    """
    known = {c.id: c for c in session.changesets}
    found = known.get(ChangesetId(wanted))
    if found is None:
        names = ", ".join(sorted(known)) or "none yet"
        raise CommandError(f"changeset {wanted!r} does not exist; the session has: {names}")
    if found not in session_words.waiting(session) or found.digest is None:
        raise CommandError(
            f"changeset {wanted!r} does not wait: it is {found.state.replace('_', ' ')}",
            ExitCode.STALE,
        )
    if digest is not None and not (digest and found.digest.startswith(digest)):
        raise CommandError(
            f"digest {digest!r} is stale: changeset {wanted!r} now has {found.digest!r}; "
            f"look at it again with `diff {wanted}`",
            ExitCode.STALE,
        )
    return ChangesetAsk(found.id, found.digest)


def known_task(session: ShownSession, task: str) -> None:
    """Check that a task exists; without a worker it is not known, and the session will judge.

    Raises:
        CommandError: there is no such task.
    """
    known = [each.id for each in session.tasks]
    if session.live and task not in known:
        names = ", ".join(known) or "none yet"
        raise CommandError(
            f"task {task!r} does not exist in session {session.session!r}; its tasks: {names}"
        )


def approval(
    ask: Ask, by: str, *, by_rule: bool = False, comments: Sequence[LineComment] = ()
) -> tuple[str, BaseModel]:
    """Return the signal that approves, and its content.

    Args:
        ask: what to approve.
        by: who decides.
        by_rule: a decisions file decides, without a person's look.
        comments: on lines of a changeset.
    """
    match ask:
        case PlanAsk():
            return "approve_plan", ApprovePlan(by=by)
        case ChangesetAsk(id, digest):
            return "approve_changeset", ApproveChangeset(
                id=id, digest=digest, by=by, by_rule=by_rule, comments=tuple(comments)
            )


def rejection(
    ask: Ask, reason: str, by: str, comments: Sequence[LineComment] = ()
) -> tuple[str, BaseModel]:
    """Return the signal that rejects, and its content: the notes for the agents."""
    match ask:
        case PlanAsk():
            return "reject_plan", RejectPlan(notes=reason, by=by)
        case ChangesetAsk(id, _):
            content = RejectChangeset(id=id, reason=reason, by=by, comments=tuple(comments))
            return "reject_changeset", content


def _check_open(session: ShownSession) -> None:
    if session.outcome is not None:
        raise CommandError(
            f"session {session.session!r} has ended: {session_words.state(session)}", ExitCode.STALE
        )
    if not session.live:
        raise CommandError(
            f"no worker answers for session {session.session!r}, so what waits cannot be checked; "
            "`up --detach` starts one",
            ExitCode.UNAVAILABLE,
        )


def _only(session: ShownSession) -> str:
    if session.phase is SessionPhase.AWAITING_PLAN:
        return PLAN
    waiting = session_words.waiting(session)
    if not waiting:
        raise CommandError(
            f"nothing waits in session {session.session!r}: it is {session_words.state(session)}",
            ExitCode.STALE,
        )
    if len(waiting) > 1:
        names = ", ".join(c.id for c in waiting)
        raise CommandError(f"several changesets wait: {names}; name one of them")
    return waiting[0].id
