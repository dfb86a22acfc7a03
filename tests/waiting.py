"""Waiting for what another process does and what cannot be awaited: files, logs, queries."""

import asyncio
from collections.abc import Awaitable, Callable

PATIENCE = 120.0
"""Seconds after which something that should have happened counts as lost."""


async def until(
    holds: Callable[[], bool | Awaitable[bool]], what: str, patience: float = PATIENCE
) -> None:
    """Look again and again until something holds.

    Args:
        holds: looks, at once or asynchronously.
        what: is said where it never does.
        patience: seconds.

    Raises:
        AssertionError: it did not happen.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + patience
    while True:
        seen = holds()
        if seen if isinstance(seen, bool) else await seen:
            return
        if loop.time() > deadline:
            raise AssertionError(f"did not happen in {patience:.0f} s: {what}")
        await asyncio.sleep(0.02)
