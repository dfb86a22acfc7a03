"""Activities of workers that died: failed by their task token, so that Temporal retries at once.

Each worker process has a directory in the journal: a lock that it holds while it lives, and a
small file with the task token of each running activity. Without this, a retry waits for the
heartbeat timeout. The activity's retry policy decides what follows.
"""

import asyncio
import contextlib
import logging
import shutil
import uuid
from functools import partial
from pathlib import Path
from typing import Final

from temporalio import activity
from temporalio.client import Client
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import (
    ActivityInboundInterceptor,
    ExecuteActivityInput,
    Interceptor,
)

from activities.file_locks import FileLock
from workflows.errors import FailureType
from workflows.policy.text.log_events import log_event

_log = logging.getLogger(__name__)

_LOCK: Final = "lock"
_NEW: Final = ".new-"
_LINGER_SECONDS: Final = 10.0
"""How long a token stays after its activity's end, until its result has surely been sent. Failing
a settled activity does nothing."""


class Journal:
    """One process's running activities, on disk."""

    def __init__(self, directory: Path) -> None:
        self._parent = directory
        self._directory: Path | None = None
        self._lock: FileLock | None = None

    def open(self) -> None:
        """Make this process's directory, locked before another process can find it."""
        self._parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        name = uuid.uuid4().hex
        unseen = self._parent / f"{_NEW}{name}"
        unseen.mkdir(mode=0o700)
        self._lock = FileLock(unseen / _LOCK)
        assert self._lock.try_acquire(), "no other process knows the file"
        self._directory = unseen.rename(self._parent / name)

    def close(self) -> None:
        """Remove the directory: every activity here has ended and was reported."""
        if self._directory is not None and self._lock is not None:
            shutil.rmtree(self._directory, ignore_errors=True)
            self._lock.release()
            self._directory = self._lock = None

    def has_records(self) -> bool:
        """Tell whether an activity runs, or ended in the last seconds."""
        assert self._directory is not None, "the journal is not open"
        return any(path.name != _LOCK for path in self._directory.iterdir())

    def add(self, token: bytes) -> Path:
        """Record a running activity and return the path of its record."""
        assert self._directory is not None, "the journal is not open"
        path = self._directory / uuid.uuid4().hex
        path.write_bytes(token)
        return path


class JournalInterceptor(Interceptor):
    """Records each activity of a worker in the journal while it runs."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:  # noqa: A002 (the SDK's name)
        """Wrap the next interceptor."""
        return _JournalledActivity(next, self._journal)


class _JournalledActivity(ActivityInboundInterceptor):
    def __init__(self, following: ActivityInboundInterceptor, journal: Journal) -> None:
        super().__init__(following)
        self._journal = journal

    async def execute_activity(self, input: ExecuteActivityInput) -> object:  # noqa: A002 (the SDK's name)
        path = self._journal.add(activity.info().task_token)
        try:
            return await super().execute_activity(input)
        finally:
            # The result is sent only after this returns; a crash between must not lose the token.
            asyncio.get_running_loop().call_later(
                _LINGER_SECONDS, partial(path.unlink, missing_ok=True)
            )


async def fail_orphans(client: Client, directory: Path) -> int:
    """Fail the activities that dead workers left, and remove their journals.

    Args:
        client: connected to the server that gave the tasks.
        directory: the journals' directory; it may be missing.

    Returns:
        How many activities were still open and have now been failed.
    """
    failed = 0
    for journal in _journals(directory):
        lock = FileLock(journal / _LOCK)
        if not _take(lock):
            continue
        try:
            # An owner that ends normally may be removing it right now: then nothing is open.
            with contextlib.suppress(FileNotFoundError):
                for token in (path for path in sorted(journal.iterdir()) if path.name != _LOCK):
                    failed += await _fail(client, token.read_bytes())
                    token.unlink(missing_ok=True)
            shutil.rmtree(journal, ignore_errors=True)
        finally:
            lock.release()
    return failed


def _journals(directory: Path) -> list[Path]:
    if not directory.is_dir():
        return []
    return sorted(
        path for path in directory.iterdir() if path.is_dir() and not path.name.startswith(_NEW)
    )


def _take(lock: FileLock) -> bool:
    # The directory may vanish: its owner ended, or another starting process was faster.
    with contextlib.suppress(FileNotFoundError):
        return lock.try_acquire()
    return False


async def _fail(client: Client, token: bytes) -> int:
    error = ApplicationError("its worker died while it ran", type=FailureType.WORKER_LOST)
    try:
        await client.get_async_activity_handle(task_token=token).fail(error)
    except RPCError as failure:
        if failure.status in {RPCStatusCode.NOT_FOUND, RPCStatusCode.INVALID_ARGUMENT}:
            return 0
        log_event(_log, "orphan_kept", reason=failure)
        return 0
    return 1
