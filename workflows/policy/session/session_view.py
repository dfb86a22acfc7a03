"""The session's view: for the query `state`, for the Web UI, and for the result."""

from workflows.domain.changeset import Changeset, ChangesetState
from workflows.domain.session.decision import Decision
from workflows.domain.session.query_answers import (
    ChangesetLine,
    PullLine,
    SessionOutcome,
    SessionResult,
    SessionView,
    TaskCosts,
    TaskLine,
)
from workflows.domain.session.session_start import SessionRequest
from workflows.domain.session.session_state import SessionState
from workflows.domain.task import TaskRecord
from workflows.policy.agent.questions import open_questions
from workflows.policy.gates.green_rule import why_less
from workflows.policy.money.amounts_in_words import money

_SHOWN = 40
_PULLS = 50
_NOTICES_KEPT = 10
_CODE_CHARACTERS = 200
_LEAST_REASON = 11
_MOST_REASON = 200
_REASONS = 11_000
"""Characters of all changesets' reasons together; each still gets its minimum."""


def view(request: SessionRequest, state: SessionState) -> SessionView:
    """Return the whole view without long texts."""
    prepared = state.prepared
    return SessionView(
        session=request.session,
        goal=_cut(request.goal, 200),
        phase=state.phase,
        reason=state.reason,
        pacing=request.config.pacing,
        cycle=state.cycle,
        repository=prepared.base.repository if prepared else request.repository,
        branch=state.branch,
        base=prepared.base.commit if prepared else None,
        head=state.head,
        sandbox=prepared.sandbox if prepared else "",
        scripted=state.ended.scripted,
        spent_usd=state.spent_usd,
        is_estimated=state.ended.is_estimated,
        cap_usd=state.cap_usd,
        tasks=task_lines(state),
        changesets=tuple(
            _changeset_line(each, _room(len(state.changesets))) for each in state.changesets
        ),
        unjudged=request.config.approvals.unjudged,
        notices=state.notices[-20:],
        questions=open_questions(state),
        pulls=_pull_lines(state),
        plan_approved_by=state.plan_approved_by,
        decisions=state.decisions,
        decisions_dropped=state.decisions_dropped,
        started_at=state.started_at,
    )


def result(state: SessionState, outcome: SessionOutcome) -> SessionResult:
    """Return the result of an ended session."""
    return SessionResult(
        outcome=outcome,
        reason=state.reason,
        branch=state.branch,
        head=state.head,
        spent_usd=state.spent_usd,
        tasks=task_lines(state),
        pulls=_pull_lines(state),
        scripted=state.ended.scripted,
        is_estimated=state.ended.is_estimated,
        plan_approved_by=state.plan_approved_by,
        decisions=state.decisions,
        decisions_dropped=state.decisions_dropped,
    )


def costs(state: SessionState) -> TaskCosts:
    """Return what the ended agents of each task cost."""
    records = state.records.values()
    return TaskCosts(usd={each.task.id: each.cost_usd for each in records if each.cost_usd})


def short(view: SessionView) -> SessionView:
    """Return the view small enough for a memo: the first tasks, the last notices."""
    return view.evolve(
        tasks=view.tasks[:_SHOWN],
        changesets=view.changesets[:_SHOWN],
        notices=view.notices[-_NOTICES_KEPT:],
        questions=view.questions[:_NOTICES_KEPT],
        decisions=view.decisions[-_SHOWN:],
        pulls=view.pulls[-_NOTICES_KEPT:],
    )


def _pull_lines(state: SessionState) -> tuple[PullLine, ...]:
    return tuple(
        PullLine(
            key=each.key,
            number=each.number,
            url=_cut(each.url, 300),
            state=each.state,
            asked=len(each.remarks),
        )
        for each in state.pulls[-_PULLS:]
    )


def task_lines(state: SessionState) -> tuple[TaskLine, ...]:
    """Return one short line per task, in the plan's order."""
    return tuple(_task_line(record) for record in state.records.values())


def _task_line(record: TaskRecord) -> TaskLine:
    return TaskLine(
        id=record.task.id,
        state=record.state,
        attempt=record.attempt,
        priority=record.task.priority,
        title=_cut(record.task.title, 48),
        reason=_cut(record.reason, 60),
    )


def _room(changesets: int) -> int:
    """Return how many characters each changeset may use to say why gates judged nothing."""
    return max(_LEAST_REASON, min(_MOST_REASON, _REASONS // max(changesets, 1)))


def _changeset_line(changeset: Changeset, room: int) -> ChangesetLine:
    is_waiting = changeset.state is ChangesetState.AWAITING_APPROVAL
    judged = changeset.judgement
    is_approved = changeset.digest is not None and changeset.digest == changeset.approved_digest
    return ChangesetLine(
        id=changeset.id,
        state=changeset.state,
        digest=changeset.digest if is_waiting else None,
        tasks=changeset.tasks,
        approved_by=changeset.approved_by if is_approved else "",
        judged_by=judged.by if judged else (),
        not_judged=_cut(why_less(judged), room) if judged else "",
        not_reviewed=_cut("; ".join(judged.unreviewed), room) if judged else "",
    )


def details(state: SessionState) -> str:
    """Return the Markdown summary that the Web UI shows as current details.

    Titles, reasons and notices may hold a model's words: they are shown as code, so that nothing
    in them becomes markup.
    """
    partly = ", partly estimated" if state.ended.is_estimated else ""
    spent = f"{money(state.spent_usd)} of {money(state.cap_usd)}{partly}"
    lines = [
        f"**{state.phase}**{': ' + _code(state.reason) if state.reason else ''}",
        "",
        f"Spent: {spent}",
    ]
    if state.ended.scripted:
        lines.append("A **scripted model** speaks here, not a real one.")
    if state.prepared is not None and state.prepared.sandbox == "none":
        lines.append("**No sandbox**: commands run with this machine's rights.")
    lines += ["", "| task | state | attempt | title |", "|---|---|---|---|"]
    records = list(state.records.values())
    lines += [
        f"| {each.task.id} | {each.state} | {each.attempt} | {_code(each.task.title)} |"
        for each in records[:_SHOWN]
    ]
    if len(records) > _SHOWN:
        lines.append(f"| … | | | {len(records) - _SHOWN} more |")
    lines += [f"- {each.id}: {each.state}{_judged(each)}" for each in state.changesets[:_SHOWN]]
    lines += [f"- {_decided(each)}" for each in state.decisions[-10:]]
    lines += [f"- notice ({each.count}×): {_code(each.text)}" for each in state.notices[-10:]]
    return "\n".join(lines)


def _judged(changeset: Changeset) -> str:
    judged = changeset.judgement
    if judged is None:
        return ""
    less = why_less(judged)
    lacks = "; ".join(judged.unreviewed)
    review = f", **not reviewed**: {_code(lacks)}" if lacks else ""
    if not judged.by:
        return f", **not judged**: {_code(less)}{review}"
    by = ", ".join(judged.by)
    return f", judged by: {by}{f' (less {_code(less)})' if less else ''}{review}"


def _decided(decision: Decision) -> str:
    subject = f" {_code(decision.subject)}" if decision.subject else ""
    note = f": {_code(decision.note)}" if decision.note else ""
    times = f" ({decision.count}×)" if decision.count > 1 else ""
    refused = f", refused: {_code(decision.refused)}" if decision.refused else ""
    return f"{decision.what}{subject} by {_code(decision.by)}{times}{note}{refused}"


def _code(text: str) -> str:
    plain = "".join(char if char.isprintable() else "�" for char in text)
    return "`" + _cut(plain.replace("`", "'").replace("|", "¦"), _CODE_CHARACTERS) + "`"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."
