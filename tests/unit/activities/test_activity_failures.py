"""`activity_failures`: what is retried for a quarter of an hour, and what is reported before."""

import dataclasses
import errno
from collections.abc import Callable
from pathlib import Path

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities.activity_failures import TRIES_ON_DAMAGE, mapped
from activities.ports.git_errors import (
    GitCommandError,
    GitTimedOutError,
    StateDamagedError,
    WorktreeDamagedError,
)
from workflows.errors import FailureType


def raised(error: Exception, attempt: int) -> Exception:
    """Return what an activity fails with that meets an error at its n-th attempt."""

    def act() -> None:
        with mapped():
            raise error

    environment = ActivityEnvironment()
    environment.info = dataclasses.replace(environment.info, attempt=attempt)
    with pytest.raises(Exception) as met:  # noqa: PT011 -- any: it is returned
        environment.run(act)
    return met.value


BROKEN = GitCommandError(("read-tree",), 128, "fatal: index file corrupt")
FULL = GitCommandError(("add",), 128, "error: file write error: No space left on device")


@pytest.mark.parametrize(
    "make",
    [
        lambda: PermissionError(errno.EACCES, "Permission denied", "state/at"),
        lambda: FileNotFoundError(errno.ENOENT, "No such file or directory", "repositories/k.git"),
        lambda: OSError(errno.EIO, "Input/output error"),
        lambda: BROKEN,
    ],
)
def test_damage_is_reported_at_the_fifth_attempt(make: Callable[[], Exception]):
    """Field report G41: it was retried for a quarter of an hour, in `developing`."""
    early = raised(make(), TRIES_ON_DAMAGE - 1)
    assert not isinstance(early, ApplicationError)
    late = raised(make(), TRIES_ON_DAMAGE)
    assert isinstance(late, ApplicationError)
    assert (late.type, late.non_retryable) == (FailureType.STATE_DAMAGED, True)
    assert "Blue Flame's own files on this host cannot be used: " in late.message


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        OSError(errno.EMFILE, "Too many open files"),
        ConnectionResetError(errno.ECONNRESET, "Connection reset by peer"),
        TimeoutError(),
        FULL,
        ValueError("a defect"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_may_pass_is_retried_as_before(error: Exception):
    assert raised(error, TRIES_ON_DAMAGE) is error


@pytest.mark.parametrize("error", [StateDamagedError("the lock"), WorktreeDamagedError("its .git")])
def test_known_damage_is_reported_at_once(error: Exception):
    found = raised(error, 1)
    assert isinstance(found, ApplicationError)
    assert found.non_retryable


def test_a_time_out_of_git_is_retried():
    error = GitTimedOutError(("gc",), Path(), 1.0)
    assert raised(error, TRIES_ON_DAMAGE) is error
