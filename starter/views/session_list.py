"""The list of sessions in words: one line for each, with the labels that it must have.

Pure: values in, lines out. Foreign text passes `one_line`.
"""

from collections.abc import Sequence

from starter.console.terminal import one_line
from starter.sessions.shown_session import SessionSummary, ShownSession
from starter.views.session_words import word


def sessions(found: Sequence[SessionSummary]) -> list[str]:
    """Return one line per session, the newest first."""
    return [*map(_line, found)] or ["no session yet; `run GOAL` starts one"]


def summary(one: SessionSummary, seen: ShownSession | None) -> SessionSummary:
    """Return an entry of the list with details from the session's own view; None: there is none."""
    if seen is None:
        return one
    facts = {"state": word(seen), "scripted": seen.scripted, "sandbox": seen.sandbox}
    return SessionSummary.model_validate({**dict(one), **facts})


def _line(one: SessionSummary) -> str:
    goal = one_line(one.goal, 100)
    marks = [
        name
        for name, holds in {"SCRIPTED": one.scripted, "sandbox NONE": one.sandbox == "none"}.items()
        if holds
    ]
    marks += [one_line(one.notice, 100)] if one.notice else []
    marked = f"  ({', '.join(marks)})" if marks else ""
    return f"{one.session}  {one.state:<10} {one.started_at:%Y-%m-%d %H:%M}  {goal}{marked}"
