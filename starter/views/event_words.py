"""The lines of `history --events`. Pure: values in, lines out."""

from collections.abc import Iterator, Sequence

from starter.console.terminal import one_line
from workers.telemetry.event_list import ListedEvent

_WIDTH = 160


def lines(events: Sequence[ListedEvent]) -> Iterator[str]:
    """Return one line for each event: time, number, type, what, and in which workflow."""
    for each in events:
        about = f" {one_line(each.what, _WIDTH)}" if each.what else ""
        back = f" (of {each.refers_to})" if each.refers_to else ""
        failed = f": {one_line(each.failure, _WIDTH)}" if each.failure else ""
        number = f"{each.at:%H:%M:%S.%f}"[:-3] + f"  {each.event:>5}"
        yield f"{number}  {each.type}{about}{back}{failed}  [{one_line(each.workflow, _WIDTH)}]"
