"""A workflow's cancellation, which reaches it once and can get lost on the way.

An activity or child that ends by itself while it is being cancelled hands over its result, and its
caller would go on as if nothing had been said. So whatever would begin more work asks here first.
"""

import asyncio

from temporalio import workflow


def end_if_cancelled() -> None:
    """End this workflow where its cancellation was requested.

    Raises:
        CancelledError: it was.
    """
    if workflow.cancellation_reason() is not None:
        raise asyncio.CancelledError
