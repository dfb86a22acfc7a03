"""Keeps a process's signs of life: looks again and again, and says when it was well.

The loop runs in the process's own event loop. If that is blocked, nothing is said.
"""

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from workers.liveness import service_manager
from workers.liveness.process_presence import is_running
from workers.liveness.service_manager import notify
from workers.liveness.sign_of_life import Sign, read_sign, sign_file, why_not_well, write_sign
from workers.roles import Role
from workers.settings import Settings
from workflows.policy.text.log_events import log_event

_log = logging.getLogger(__name__)

Look = Callable[[], Awaitable[str]]
"""Returns why the process is not well; empty if it is."""

_LOOKS: Final = 8
"""How often to look within the time after which a sign is stale."""


@contextlib.asynccontextmanager
async def shown(
    settings: Settings, roles: Iterable[Role], environment: Mapping[str, str], look: Look
) -> AsyncGenerator[None]:
    """Keep a worker's signs of life while the block runs, and remove them at its end.

    Args:
        settings: the process's; a worker of an older build writes no file, because the files are
            the current build's.
        roles: the process's.
        environment: the process's, which may name a service manager.
        look: of this process at itself.
    """
    files = [] if settings.takes_new is False else [sign_file(settings, role) for role in roles]
    sign = Sign(pid=os.getpid(), well_at=datetime.now(UTC), stale_after_s=settings.liveness_seconds)
    _write(files, sign)
    notify(environment, service_manager.READY)
    try:
        async with _running(_look_again(files, sign, environment, look)):
            yield
    finally:
        _remove(files)


async def _look_again(
    files: Iterable[Path], sign: Sign, environment: Mapping[str, str], look: Look
) -> None:
    while True:
        try:
            trouble = await look()
        except Exception as error:  # noqa: BLE001 (whatever it is, the sign says it)
            trouble = f"it cannot look at itself: {error!r}"
        sign = sign.after(trouble, datetime.now(UTC))
        _write(files, sign)
        if not trouble:
            notify(environment, service_manager.ALIVE)
        await asyncio.sleep(sign.stale_after_s / _LOOKS)


@contextlib.asynccontextmanager
async def passed_on(settings: Settings, environment: Mapping[str, str]) -> AsyncGenerator[None]:
    """Tell the service manager, while the block runs, that all workers kept here are well.

    Args:
        settings: those of the process that keeps the workers.
        environment: that process's, which may name a service manager.
    """
    notify(environment, service_manager.READY)
    try:
        async with _running(_pass_on(settings, environment)):
            yield
    finally:
        notify(environment, service_manager.STOPPING)


async def _pass_on(settings: Settings, environment: Mapping[str, str]) -> None:
    while True:
        if not any(troubles(settings, Role).values()):
            notify(environment, service_manager.ALIVE)
        await asyncio.sleep(settings.liveness_seconds / _LOOKS)


def troubles(settings: Settings, roles: Iterable[Role]) -> dict[Role, str]:
    """Return why the worker of each role here is not well; empty texts for those that are."""
    now = datetime.now(UTC)
    signs = {role: read_sign(sign_file(settings, role)) for role in roles}
    return {role: why_not_well(sign, role, now) for role, sign in signs.items()}


def hanging(settings: Settings) -> list[str]:
    """Say of each worker that runs here why it hangs; nothing of those that are well or absent."""
    there = [role for role in Role if _runs(read_sign(sign_file(settings, role)))]
    return [text for text in troubles(settings, there).values() if text]


def _runs(sign: Sign | None) -> bool:
    return sign is not None and is_running(sign.pid)


def _write(files: Iterable[Path], sign: Sign) -> None:
    for file in files:
        try:
            write_sign(file, sign)
        except OSError as error:
            # It then counts as hanging; but its work may go on.
            log_event(_log, "sign_not_written", file=file, reason=error)


def _remove(files: Iterable[Path]) -> None:
    for file in files:
        sign = read_sign(file)
        if sign is not None and sign.pid == os.getpid():
            file.unlink(missing_ok=True)


@contextlib.asynccontextmanager
async def _running(work: Coroutine[None, None, None]) -> AsyncGenerator[None]:
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])
