"""Errors of the ports as failures that workflows decide on: one mapping, used by every activity."""

from collections.abc import Generator
from contextlib import contextmanager

from temporalio.exceptions import ApplicationError

from activities.ports.git_errors import (
    BundleError,
    RefMovedError,
    RepositoryRefusedError,
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
    BundleError: FailureType.REPOSITORY_REFUSED,
}


@contextmanager
def mapped() -> Generator[None]:
    """Turn what no retry can fix into a failure that says so; let the rest be retried."""
    try:
        yield
    except tuple(_NEVER) as error:
        kind = next(kind for each, kind in _NEVER.items() if isinstance(error, each))
        raise ApplicationError(str(error)[:2_000], type=kind, non_retryable=True) from error
