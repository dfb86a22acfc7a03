"""The lines of `replay`. Pure: values in, lines out."""

from collections.abc import Iterator, Sequence

from starter.console.terminal import one_line
from workers.replayed_session import ReplayedWorkflow

_WIDTH = 400


def lines(replayed: Sequence[ReplayedWorkflow], build: str, moved: int) -> list[str]:
    """Return each workflow that does not fit, and the result.

    Args:
        replayed: all workflows of the session; at least one.
        build: the build of the code that was run.
        moved: how many open workflows were bound to that build.
    """
    wrong = [each for each in replayed if each.failure]
    found = [line for each in wrong for line in _misfit(each)]
    events = sum(each.events for each in replayed)
    if wrong:
        found.append(
            f"build {build} does not fit {len(wrong)} of {len(replayed)} histories; the session "
            "needs workers of the build that it began with"
        )
    else:
        found.append(f"build {build} fits: {len(replayed)} histories, {events} events")
    if moved:
        found.append(f"{moved} open workflows go on with build {build} now")
    return found


def _misfit(replayed: ReplayedWorkflow) -> Iterator[str]:
    yield f"DOES NOT FIT  {replayed.workflow}"
    yield f"              {one_line(replayed.failure, _WIDTH)}"
