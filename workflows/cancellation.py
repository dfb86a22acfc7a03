"""A workflow's cancellation, which reaches it once and can get lost on the way.

An activity or child that completes while it is being cancelled still returns its result, and a
signal to another workflow is still delivered, so the caller would continue as if not cancelled.
Code that starts more work or waits long therefore checks here first. A continuation would lose it.
"""

import asyncio

from temporalio import workflow


def is_cancelled() -> bool:
    """Tell whether this workflow's cancellation was requested."""
    return workflow.cancellation_reason() is not None


def end_if_cancelled() -> None:
    """End this workflow if its cancellation was requested.

    Raises:
        CancelledError: the cancellation was requested.
    """
    if is_cancelled():
        raise asyncio.CancelledError
