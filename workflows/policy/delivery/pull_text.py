"""Title and body of a pull request, from the plan and what became of it.

Goal, plan and summaries may hold a model's or a stranger's words. They are shown as text: no
mention, no reference that closes an issue, no quick action of GitLab and no HTML works in them.
What looks like a secret is left out: more people read a pull request than a session.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from workflows.domain.ids import SessionId
from workflows.domain.pull_request import MAX_BODY
from workflows.domain.task import TaskRecord, TaskState
from workflows.policy.gates.green_rule import why_less
from workflows.policy.session.task_states import FINAL
from workflows.policy.text.secret_patterns import without_secrets

_TITLE: Final = 100
_SUMMARY: Final = 1_500
_SIGN: Final = re.compile(r"[@#!](?=\w)|(?<=\w)(?=://)")
_QUICK_ACTION: Final = re.compile(r"^(\s*)/", re.MULTILINE)
_BREAK: Final = "\u200b"
_CUT: Final = "\n\n… (shortened; the session's report has the rest)"


def as_text(text: str) -> str:
    """Return foreign words so that a hosting service shows them and does nothing else.

    Args:
        text: Markdown of any author.
    """
    shown = without_secrets(text).replace("&", "&amp;").replace("<", "&lt;")
    shown = unlinked(shown)
    return _QUICK_ACTION.sub(rf"\1{_BREAK}/", shown)


def unlinked(text: str) -> str:
    """Return foreign words that mention no one and refer to no issue."""
    return _SIGN.sub(lambda found: f"{found[0]}{_BREAK}", text)


def one_line(text: str, most: int = _TITLE) -> str:
    """Return the first line of a text, cut to `most` characters."""
    lines = without_secrets(text).splitlines()
    line = next((each.strip() for each in lines if each.strip()), "")
    shown = unlinked(line)
    return shown if len(shown) <= most else f"{shown[: most - 1].rstrip()}…"


def marker(session: SessionId, key: str) -> str:
    """Return the line of a body that names whose pull request it is; it is created only once."""
    return f"<!-- blueflame:{session}/{key} -->"


def session_body(
    session: SessionId, goal: str, summary: str, records: Sequence[TaskRecord], key: str
) -> str:
    """Return the body of the one pull request of a session.

    Args:
        session: its id.
        goal: what the person asked for.
        summary: the plan's.
        records: of the tasks that the pull request is about, in the plan's order.
        key: `session`, or a changeset's id.

    Returns:
        Markdown of at most `MAX_BODY` characters, which ends with the marker.
    """
    parts = ["## Goal", _quoted(goal)]
    if summary:
        parts += ["## Plan", as_text(summary)]
    parts += ["## Tasks", *(line for each in records for line in _task(each))]
    end = f"\n\nMade by Blue Flame in session `{session}`.\n\n{marker(session, key)}\n"
    whole = "\n\n".join(parts)
    room = MAX_BODY - len(end)
    return (whole if len(whole) <= room else whole[: room - len(_CUT)] + _CUT) + end


def _quoted(text: str) -> str:
    lines = as_text(without_secrets(text)[:_SUMMARY].strip()).splitlines()
    return "\n".join(f"> {line}".rstrip() for line in lines)


def _task(record: TaskRecord) -> Iterator[str]:
    """Yield one task's parts; what is still under way is not told, so that the text stays."""
    is_done = record.state is TaskState.MERGED
    state = "" if is_done else f" ({record.state})" if record.state in FINAL else " (to come)"
    yield f"### {one_line(record.task.title)}{state}"
    if record.summary and is_done:
        yield _quoted(record.summary)
    box = "x" if is_done else " "
    criteria = record.task.acceptance_criteria
    yield "\n".join(f"- [{box}] {as_text(one_line(each, 500))}" for each in criteria)
    if is_done and (facts := list(_facts(record))):
        yield "\n".join(f"- {each}" for each in facts)


def _facts(record: TaskRecord) -> Iterator[str]:
    judged = record.judgement
    if judged is not None:
        by = ", ".join(f"`{name}`" for name in judged.by)
        yield f"Gates: {by} found nothing new" if by else "Gates: none judged this work"
        if less := why_less(judged):
            yield f"Not judged: {as_text(one_line(less, 300))}"
    if record.verdict:
        yield f"Review: {as_text(one_line(record.verdict, 600))}"
    if record.weakened:
        yield f"Tests deleted, skipped or weakened: {as_text('; '.join(record.weakened)[:500])}"
    if record.attempt > 1:
        yield f"Attempts: {record.attempt}"
