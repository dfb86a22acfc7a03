"""Counts the commands that are started in a sandbox, by how they ended."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import wraps
from types import CoroutineType
from typing import Any, ParamSpec

from activities.ports.measures import measure
from activities.ports.sandbox_port import SandboxResult

P = ParamSpec("P")


def measured(
    run: Callable[P, Awaitable[SandboxResult]],
) -> "Callable[P, CoroutineType[Any, Any, SandboxResult]]":
    """Return `Sandbox.run` that also counts."""

    @wraps(run)
    async def counting(*args: P.args, **kwargs: P.kwargs) -> SandboxResult:
        end = "unavailable"
        try:
            result = await run(*args, **kwargs)
            end = result.end
        except asyncio.CancelledError:
            end = "cancelled"
            raise
        finally:
            measure("blueflame_sandbox_starts_total", end=end)
        return result

    return counting
