"""What a key decides: on which subject, what the person is asked first, and the decision to send.

Pure. A decision names exactly what the person saw; the session checks it again, because another
person may decide at the same time.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

from pydantic import BaseModel

from starter.console.command_errors import CommandError
from starter.console.terminal import shown
from starter.decisions import decision_checks
from starter.live.live_model import CHANGESET, PLAN, QUESTION, RESUME, STUCK, TASK
from starter.sessions.open_questions import Ask, ChangesetAsk, PlanAsk
from starter.sessions.shown_session import ShownSession
from starter.views import session_words
from workflows.domain.line_comment import LineComment
from workflows.domain.session.decision_inputs import (
    AnswerQuestion,
    Nothing,
    RetryTask,
    RevertTask,
    RewindTask,
    SkipTask,
    SteerTask,
)
from workflows.domain.session.query_answers import ChangesetLine
from workflows.domain.session.session_modes import SessionPhase
from workflows.policy.money.amounts_in_words import counted

Act = Literal["approve", "reject", "answer", "skip", "retry", "rewind", "revert", "steer", "pause"]
Decided = tuple[str, BaseModel]
"""The Update's name and its content."""
Wanted = Literal["none", "optional", "required"]
"""Whether a text is asked for."""
_MOST: Final = 10_000
_PLACE: Final = re.compile(r"(?:(?P<attempt>[1-9][0-9]{0,5}):)?(?P<turn>[1-9][0-9]{0,5})")


@dataclass(frozen=True)
class Prompt:
    """What the person is asked before the decision is sent."""

    question: str
    text: Wanted
    """Whether the person writes something; with `none` they only confirm."""
    decide: Callable[[str], Decided]
    """Returns the decision for the text, or raises `CommandError` if it is not understood."""
    plan: str = ""
    """The plan that it is about, as `plan_question` says; empty: it is about something else."""


class Selected(NamedTuple):
    """Which rows the person has chosen, empty where there is none, and their comments."""

    ask: str = ""
    task: str = ""
    comments: Mapping[str, Sequence[LineComment]] = MappingProxyType({})
    """On lines, by the digest of the changeset whose diff was shown."""


def prompt(act: Act, session: ShownSession, selected: Selected, by: str) -> Prompt:
    """Return what to ask for an act.

    Args:
        act: what the key stands for.
        session: the view that the person sees.
        selected: keys of the chosen rows.
        by: who decides.

    Raises:
        CommandError: it is not possible now; says why.
    """
    match act:
        case "approve" | "reject":
            return _judgement(act, _subject(session, selected), selected, by)
        case "answer":
            about = _question(session, selected)
            text = next(each.text for each in session.questions if each.about == about)
            return Prompt(
                f"{about} asks: {text}",
                "required",
                lambda said: ("answer", AnswerQuestion(id=about, text=_cut(said), by=by)),
            )
        case "pause":
            return _pause(session, by)
        case "rewind":
            return _rewind(_task(session, selected), by)
        case "skip" | "retry" | "revert" | "steer":
            return _task_prompt(act, _task(session, selected), by)


def changeset_of(session: ShownSession, selected: Selected) -> ChangesetLine:
    """Return the changeset that is chosen, or that holds the chosen task.

    Raises:
        CommandError: none is.
    """
    wanted = selected.ask.removeprefix(CHANGESET) if selected.ask.startswith(CHANGESET) else ""
    task = selected.task.removeprefix(TASK)
    for each in session.changesets:
        if each.id == wanted or (not wanted and task in each.tasks):
            return each
    if len(waiting := session_words.waiting(session)) == 1:
        return waiting[0]
    raise CommandError("no changeset is selected; move to one, or to one of its tasks")


def _subject(session: ShownSession, selected: Selected) -> Ask:
    if selected.ask == PLAN or session.phase is SessionPhase.AWAITING_PLAN:
        return decision_checks.plan(session)
    chosen, waiting = changeset_of(session, selected), session_words.waiting(session)
    if chosen not in waiting and len(waiting) == 1:
        chosen = waiting[0]  # the question names it
    return decision_checks.changeset(session, chosen.id, None)


def _judgement(act: Literal["approve", "reject"], ask: Ask, selected: Selected, by: str) -> Prompt:
    what, comments = "the plan", tuple[LineComment, ...]()
    seen = ask.question if isinstance(ask, PlanAsk) else ""
    if isinstance(ask, ChangesetAsk):
        comments = tuple(selected.comments.get(ask.digest, ()))
        more = f" with {counted(len(comments), 'comment')}" if comments else ""
        what = f"changeset {ask.id} ({ask.digest[:12]}){more}"
    if act == "approve":
        return Prompt(
            f"Approve {what}?",
            "none",
            lambda _: decision_checks.approval(ask, by, comments=comments),
            seen,
        )
    return Prompt(
        f"Reject {what}: what should the next attempt know?",
        "optional",
        lambda said: decision_checks.rejection(ask, _cut(said), by, comments),
        seen,
    )


def _question(session: ShownSession, selected: Selected) -> str:
    known = [each.about for each in session.questions]
    for key, start in ((selected.ask, QUESTION), (selected.task, TASK)):
        if key.startswith(start) and key.removeprefix(start) in known:
            return key.removeprefix(start)
    if len(known) == 1:
        return known[0]
    raise CommandError("select a question first" if known else "no agent is asking anything")


def _pause(session: ShownSession, by: str) -> Prompt:
    is_paused = session.phase is SessionPhase.PAUSED
    name = "resume" if is_paused else "pause"
    asked = "Resume the session?" if is_paused else "Pause when agents finish their current turn?"
    return Prompt(asked, "none", lambda _: (name, Nothing(by=by)))


def _task(session: ShownSession, selected: Selected) -> str:
    for key, start in ((selected.ask, STUCK), (selected.task, TASK)):
        if key.startswith(start):
            return key.removeprefix(start)
    raise CommandError("select a task first" if session.tasks else "there is no task yet")


def _rewind(task: str, by: str) -> Prompt:
    def decide(said: str) -> Decided:
        place, _, notes = said.strip().partition(" ")
        if (read := _PLACE.fullmatch(place)) is None:
            raise CommandError(f"{shown(place)!r} is not a turn: write 3, or 1:3 for attempt 1")
        attempt = int(read["attempt"]) if read["attempt"] else None
        turn, notes = int(read["turn"]), _cut(notes)
        return "rewind_task", RewindTask(id=task, turn=turn, attempt=attempt, notes=notes, by=by)

    question = (
        f"Rewind task {task} to which turn? TURN or ATTEMPT:TURN, then what the next attempt "
        "should know:"
    )
    return Prompt(question, "required", decide)


def _task_prompt(act: Literal["skip", "retry", "revert", "steer"], task: str, by: str) -> Prompt:
    match act:
        case "skip":
            return Prompt(
                f"Skip task {task}? Tasks that depend on it stay blocked.",
                "none",
                lambda _: ("skip_task", SkipTask(id=task, by=by)),
            )
        case "retry":
            return Prompt(
                f"Retry task {task}: what should the next attempt know?",
                "optional",
                lambda said: ("retry_task", RetryTask(id=task, notes=_cut(said), by=by)),
            )
        case "revert":
            return Prompt(
                f"Take the merged work of task {task} back, as a changeset of its own? Why:",
                "optional",
                lambda said: ("revert_task", RevertTask(id=task, reason=_cut(said)[:5_000], by=by)),
            )
        case "steer":
            return Prompt(
                f"Message to the agent of {task}, for its next turn:",
                "required",
                lambda said: ("steer_task", SteerTask(id=task, text=_cut(said), by=by)),
            )


def offered(session: ShownSession, asks: Sequence[str]) -> str:
    """Return a hint about the keys that answer what waits, or how to look around."""
    kinds = {key.partition(" ")[0] for key in asks}
    if {PLAN, CHANGESET.strip()} & kinds:
        return "a approve  r reject  d diff"
    if QUESTION.strip() in kinds:
        return "w answer"
    if RESUME in kinds and session.phase is SessionPhase.PAUSED:
        return "p resume"
    return "t retry  s skip" if STUCK.strip() in kinds else ""


def _cut(text: str) -> str:
    return text.strip()[:_MOST]


def lost(session: ShownSession, decision: Decided, error: str, by: str) -> str:
    """Return what to tell a person whose decision was not carried out.

    Args:
        session: its view after that.
        decision: what was sent.
        error: the refusal.
        by: who sent it.
    """
    subject = getattr(decision[1], "id", "")
    others = [
        each
        for each in session.decisions
        if each.subject == subject and not each.refused and each.by != by
    ]
    if not others:
        return error
    what = others[-1].what.replace("_", " ")
    return f"{shown(others[-1].by)} decided before: {what} {shown(subject)}. {error}"
