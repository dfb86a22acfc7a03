"""`activities.file_locks`: one holder at a time, free at the holder's death, kept by an heir."""

import subprocess
import sys
from pathlib import Path

from activities.file_locks import FileLock, is_held


def test_one_holder_at_a_time(tmp_path: Path) -> None:
    first, second = FileLock(tmp_path / "lock"), FileLock(tmp_path / "lock")
    assert first.try_acquire()
    assert first.try_acquire()
    assert not second.try_acquire()
    assert is_held(tmp_path / "lock")
    first.release()
    assert not is_held(tmp_path / "lock")
    assert second.try_acquire()
    second.release()


def test_a_file_that_is_not_there_is_not_held(tmp_path: Path) -> None:
    assert not is_held(tmp_path / "lock")


def _sleeper(*inherited: int) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.stdin.read()"],
        stdin=subprocess.PIPE,
        pass_fds=inherited,
    )


def test_a_child_does_not_hold_it_unless_told_to(tmp_path: Path) -> None:
    lock = FileLock(tmp_path / "lock")
    assert lock.try_acquire()
    with _sleeper() as child:
        lock.release()
        assert not is_held(tmp_path / "lock")
        child.communicate()


def test_an_heir_holds_it_until_it_dies(tmp_path: Path) -> None:
    lock = FileLock(tmp_path / "lock")
    assert lock.try_acquire()
    with _sleeper(lock.fileno()) as heir:
        lock.release()
        assert is_held(tmp_path / "lock")
        heir.kill()
    assert not is_held(tmp_path / "lock")
