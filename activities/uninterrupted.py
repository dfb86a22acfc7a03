"""Work that must come to its end once it began, even if its caller is cancelled."""

import asyncio
from collections.abc import Coroutine
from typing import TypeVar

_T = TypeVar("_T")


async def uninterrupted(work: Coroutine[object, object, _T]) -> _T:
    """Run `work` to its end; a cancellation during it is raised after it."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            if task.cancelled():
                raise
            cancelled = error
        except BaseException:  # noqa: BLE001 -- raised again by `result` below
            break
    if cancelled is not None:
        task.exception()
        raise cancelled
    return task.result()
