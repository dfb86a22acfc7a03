"""Lists in words: sessions, one line for each with its labels, and the queues of goals.

Pure: values in, lines out. Foreign text passes `one_line`.
"""

from collections.abc import Iterator, Sequence

from starter.console.terminal import one_line
from starter.sessions.shown_session import SessionSummary, ShownSession
from starter.views.session_words import word
from workflows.domain.session.queued_goal import QueuedGoal, ShownQueue


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


def queues(found: Sequence[ShownQueue]) -> Iterator[str]:
    """Return queues in words: what is worked off, what waits and why, how much failed."""
    if not found:
        yield "no queue yet; `run --queue GOAL` makes one"
    for each in found:
        state = each.state
        yield one_line(each.repository, 200)
        if state.current is not None:
            yield f"  now   {entry(state.current)}"
            yield f"        session {state.session}"
        for number, waits in enumerate(state.waiting, 1):
            yield f"  {number:<4}  {entry(waits)}"
            if number == 1 and state.reason:
                yield f"        waits: {one_line(state.reason, 200)}"
        if not state.waiting and state.current is None:
            yield "  nothing waits"
        if state.failed:
            yield f"  {len(state.failed)} set aside; `ls --failed` lists them"


def failed(found: Sequence[ShownQueue]) -> Iterator[str]:
    """Return what queues set aside, the newest first, each with the reason."""
    aside = [(one, each) for each in found for one in each.state.failed]
    if not aside:
        yield "nothing was set aside"
    for one, each in sorted(aside, key=lambda pair: pair[0].at, reverse=True):
        yield entry(one.entry)
        session = f"session {one.session}, " if one.session else ""
        yield f"  {one.at:%Y-%m-%d %H:%M} UTC, {session}{one_line(each.repository, 200)}"
        yield f"  {one_line(one.reason, 300)}"
    if aside:
        yield "`requeue ID` queues a goal again; `queue remove ID` forgets it"


def entry(one: QueuedGoal) -> str:
    """Return an entry as one line: its id, its goal, and the issue that it is."""
    where = f"  ({one_line(one.goal.issue, 200)})" if one.goal.issue else ""
    return f"{one.id}  {one_line(one.goal.goal, 80)}{where}"
