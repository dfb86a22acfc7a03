"""Queues of goals in words. Pure: values in, lines out; foreign text passes `one_line`."""

from collections.abc import Iterator, Sequence

from starter.console.terminal import one_line
from workflows.domain.session.queued_goal import QueuedGoal, ShownQueue


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
        yield "`requeue ID` puts one into the queue again, `queue remove ID` forgets it"


def entry(one: QueuedGoal) -> str:
    """Return an entry as one line: its id, its goal, and the issue that it is."""
    where = f"  ({one_line(one.goal.issue, 200)})" if one.goal.issue else ""
    return f"{one.id}  {one_line(one.goal.goal, 80)}{where}"
