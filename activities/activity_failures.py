"""Errors of the ports as failures that workflows decide on: one mapping, used by every activity.

| error                                        | what follows                                    |
|----------------------------------------------|-------------------------------------------------|
| one of `_NEVER`                              | a failure of that type, at once                 |
| of the file system or git, that may pass     | retried as often as the contract says           |
| of the file system or git, any other         | `StateDamaged` at the fifth try, after 15 s     |
| anything else                                | retried as often as the contract says           |
"""

import errno
from collections.abc import Generator
from contextlib import contextmanager

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.ports.git_errors import (
    BundleError,
    GitCommandError,
    PrerequisiteMissingError,
    RefMovedError,
    RepositoryRefusedError,
    StateDamagedError,
    WorktreeDamagedError,
)
from activities.ports.sandbox_port import SandboxUnavailableError
from activities.ports.snapshot_port import SnapshotError
from activities.ports.toolchain_places import ToolchainError
from workflows.errors import FailureType

_NEVER: dict[type[Exception], FailureType] = {
    RepositoryRefusedError: FailureType.REPOSITORY_REFUSED,
    SandboxUnavailableError: FailureType.SANDBOX_UNAVAILABLE,
    RefMovedError: FailureType.FENCED,
    SnapshotError: FailureType.SETUP_FAILED,
    ToolchainError: FailureType.SANDBOX_UNAVAILABLE,
    WorktreeDamagedError: FailureType.FENCED,
    PrerequisiteMissingError: FailureType.BASE_LACKING,
    BundleError: FailureType.REPOSITORY_REFUSED,
    StateDamagedError: FailureType.STATE_DAMAGED,
}

TRIES_ON_DAMAGE = 5
"""Attempts at 0, 1, 3, 7 and 15 seconds: what is damaged is then reported in under a minute."""
_PASSING = (
    *(errno.ENOSPC, errno.EDQUOT, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.EAGAIN),
    *(errno.EBUSY, errno.EINTR, errno.ETIMEDOUT, errno.ESTALE),
)
"""The machine is full or busy, or its disk is away: worth many more tries."""
_PASSING_WORDS = ("No space left", "Disk quota exceeded", "Cannot allocate memory", "Too many open")


@contextmanager
def mapped() -> Generator[None]:
    """Turn what no retry can fix into a failure that says so; let the rest be retried."""
    try:
        yield
    except tuple(_NEVER) as error:
        kind = next(kind for each, kind in _NEVER.items() if isinstance(error, each))
        raise ApplicationError(str(error)[:2_000], type=kind, non_retryable=True) from error
    except (OSError, GitCommandError) as error:
        if _may_pass(error) or not activity.in_activity():
            raise
        if activity.info().attempt < TRIES_ON_DAMAGE:
            raise
        text = f"Blue Flame's own files on this host cannot be used: {error}"
        kind = FailureType.STATE_DAMAGED
        raise ApplicationError(text[:2_000], type=kind, non_retryable=True) from error


def _may_pass(error: OSError | GitCommandError) -> bool:
    if isinstance(error, ConnectionError | TimeoutError):
        return True
    if isinstance(error, OSError):
        return error.errno is None or error.errno in _PASSING
    return any(words in error.stderr for words in _PASSING_WORDS)
