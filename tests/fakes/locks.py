"""The worktree's lock taken out, for tests that must be seen to fail without it."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path


@asynccontextmanager
async def not_locked(
    path: Path, on_wait: Callable[[], None] | None = None
) -> AsyncGenerator[int, None]:
    """Give a descriptor that holds nothing, in place of `exclusive`."""
    del on_wait
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        yield file.fileno()
