"""A session's story in words, one entry on one or two lines. Pure.

The fixed text is ASCII; foreign text passes `one_line`.
"""

from collections.abc import Iterable, Iterator
from datetime import date
from typing import Final

from starter.console.terminal import one_line, shown
from starter.reports.story import Event
from starter.reports.timeline import clock

_WHY: Final = 200


def lines(events: Iterable[Event]) -> Iterator[str]:
    """Return the lines; a line with the date comes before the first entry of each day, in UTC."""
    day: date | None = None
    for each in events:
        if each.at.date() != day:
            day = each.at.date()
            yield f"{day} (UTC)"
        yield _line(each)
        if each.why:
            yield f"{'':22}{one_line(each.why, _WHY)}"


def _line(event: Event) -> str:
    subject = f"{shown(event.subject)}: " if event.subject else ""
    by = f", by {one_line(event.by, 100)}" if event.by else ""
    waited = f", after {clock(event.waited)} of waiting" if event.waited is not None else ""
    return (
        f"  {event.at:%H:%M:%S}  {event.kind:<9} {subject}{one_line(event.text, 300)}{by}{waited}"
    )
