"""Heeding a cancellation that came while an activity was about to end.

The worker is asked to cancel an activity and may still bring it to its end. Its result is taken
then, and the SDK takes the cancellation for dealt with: a workflow that does not look goes on, for
minutes and for money, after it was told to stop. A workflow that runs an activity looks before each
next step; nothing here looks at tasks that a workflow cancels by itself.
"""

import asyncio

from temporalio import workflow


def heed() -> None:
    """Go no further where this workflow was told to stop.

    Raises:
        asyncio.CancelledError: it was.
    """
    if workflow.cancellation_reason() is not None:
        raise asyncio.CancelledError("this workflow was cancelled while an activity ended")
