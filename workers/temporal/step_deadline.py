"""Gives workflow code on a busy machine the time that it needs.

The SDK takes a step of a workflow for a deadlock after two seconds on the clock, and interrupts its
thread. A workflow step never blocks, but where other programs take the processor a large plan may
need that long, and an interrupted run is not always evicted whole: its session then stood still for
as long as the worker lived. The server has a limit of its own for a step (ten seconds), and hands
it out again.
"""

from typing import Final

from temporalio.worker import Worker

_DEADLOCK_SECONDS: Final = 60


def patient(worker: Worker) -> Worker:
    """Return a worker whose workflows may take a minute for a step.

    The SDK has no setting for it (1.35); a test fails where this no longer works.
    """
    of_workflows = worker._workflow_worker  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    if of_workflows is not None:
        of_workflows._deadlock_timeout_seconds = _DEADLOCK_SECONDS  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    return worker
