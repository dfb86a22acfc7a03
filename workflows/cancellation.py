"""A workflow's cancellation, which reaches it once and can get lost on the way.

An activity or child that ends by itself while it is being cancelled hands over its result, a signal
to another workflow is delivered, and their caller would go on as if nothing had been said. So
whatever would begin more work, or wait long, asks here first. A continuation would forget it.
"""

import asyncio

from temporalio import workflow


def is_cancelled() -> bool:
    """Tell whether this workflow's cancellation was requested."""
    return workflow.cancellation_reason() is not None


def end_if_cancelled() -> None:
    """End this workflow where its cancellation was requested.

    Raises:
        CancelledError: it was.
    """
    if is_cancelled():
        raise asyncio.CancelledError
