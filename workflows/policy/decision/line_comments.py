"""Comments on lines of a changeset: kept with their tasks, and put in words for the next attempt.

Whether a line exists is checked where the diff can be read, before a decision is sent.
"""

from collections.abc import Sequence
from typing import Final

from workflows.domain.changeset import Changeset
from workflows.domain.ids import TaskId
from workflows.domain.line_comment import MOST_COMMENTS, LineComment
from workflows.domain.session.session_state import SessionState

_MOST_CHARACTERS: Final = 10_000
"""Of all comments on one task's work in words, so that none is cut from the note."""
_TITLE: Final = "Comments on lines of the work, each with its place:"


def refusal(changeset: Changeset, comments: Sequence[LineComment], reason: str = "") -> str:
    """Return why these comments cannot be taken; empty if they can.

    Args:
        changeset: what the decision is about.
        comments: those of the decision.
        reason: what else the next attempt is told.
    """
    tasks = sorted(changeset.tasks)
    for each in comments:
        if each.task and each.task not in tasks:
            listed = ", ".join(tasks)
            return (
                f"a comment names task {each.task!r}, but changeset {changeset.id!r} has {listed}"
            )
    longest = max((len(told(reason, comments, task)) for task in tasks), default=0)
    if comments and longest > _MOST_CHARACTERS:
        return f"comments and reason have {longest} characters; shorten them to {_MOST_CHARACTERS}"
    return ""


def told(reason: str, comments: Sequence[LineComment], task: TaskId) -> str:
    """Return what the task's next attempt is told: the reason, then each comment on its place."""
    own = [each for each in comments if each.task in {"", task}]
    lines = [_TITLE, *map(_line, own)] if own else []
    return "\n".join([*([reason] if reason else []), *lines])


def kept(
    state: SessionState, changeset: Changeset, comments: Sequence[LineComment]
) -> SessionState:
    """Return the state with the comments kept by their tasks, the newest of each."""
    records = dict(state.records)
    for task in changeset.tasks:
        record = records[task]
        own = tuple(each.on_attempt(record.attempt) for each in comments if each.task in {"", task})
        if own:
            records[task] = record.evolve(comments=(*record.comments, *own)[-MOST_COMMENTS:])
    return state.evolve(records=records)


def noted(
    state: SessionState, changeset: Changeset, comments: Sequence[LineComment]
) -> SessionState:
    """Return the state after an approval with comments: kept, and told if work has to come back."""
    state = kept(state, changeset, comments)
    records = dict(state.records)
    for task in changeset.tasks:
        if text := told("", comments, task):
            note = f"a person approved the work. {text}"
            records[task] = records[task].evolve(notes=(*records[task].notes, note))
    return state.evolve(records=records)


def _line(comment: LineComment) -> str:
    quote = f" `{comment.quote.strip()}`" if comment.quote.strip() else ""
    return f"- {comment.path}:{comment.line}{quote}: {comment.text}"
