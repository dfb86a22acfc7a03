"""When a session continues as new, so that no history grows without end.

No wave survives a continuation: it happens in a gap between two waves, of which most sessions have
many, as soon as the run is long. Only a run that takes long to replay (`events_per_run`, far below
the server's limits of 51,200 events and 50 MB) makes a gap, by starting nothing.
"""

from typing import Final

from temporalio import workflow

from workflows.domain.session.session_start import SessionRequest

_MOST_BYTES: Final = 25_000_000


def is_long(request: SessionRequest, cycle: int) -> bool:
    """Tell whether the run should continue as new at the next moment without a wave.

    Args:
        request: the run's.
        cycle: the number of waves that the session has started.
    """
    return (
        _waves(request, cycle) >= request.waves_per_run
        or workflow.info().is_continue_as_new_suggested()
        or is_full(request, cycle)
    )


def is_full(request: SessionRequest, cycle: int) -> bool:
    """Tell whether the run must start no further wave, and continue as new without one."""
    info = workflow.info()
    events, size = info.get_current_history_length(), info.get_current_history_size()
    has_worked = _waves(request, cycle) > 0
    return has_worked and (events >= request.events_per_run or size >= _MOST_BYTES)


def _waves(request: SessionRequest, cycle: int) -> int:
    return cycle - (request.carried.cycle if request.carried else 0)
