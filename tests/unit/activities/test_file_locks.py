"""`activities.file_locks`: one holder at a time, free at the holder's death, kept by an heir."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

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


def test_a_lock_that_was_closed_or_written_is_put_right(tmp_path: Path) -> None:
    """Field report G41."""
    place = tmp_path / "lock"
    place.write_bytes(b"x" * 5_000)
    place.chmod(0)
    lock = FileLock(place)
    assert lock.try_acquire()
    assert (oct(place.stat().st_mode), place.stat().st_size) == ("0o100600", 0)
    lock.release()


def test_the_descriptor_of_a_lock_cannot_be_written(tmp_path: Path) -> None:
    """Field report G40."""
    lock = FileLock(tmp_path / "lock")
    assert lock.try_acquire()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.write(lock.fileno(), b"x")
    with pytest.raises(OSError, match="Invalid argument"):
        os.ftruncate(lock.fileno(), 5)
    lock.release()


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_what_stands_in_the_place_of_a_lock_is_not_followed_or_waited_for(
    tmp_path: Path, kind: str
) -> None:
    place = tmp_path / "lock"
    if kind == "pipe":
        os.mkfifo(place, 0)
        with pytest.raises(PermissionError):
            FileLock(place).try_acquire()
        place.chmod(0o600)
        pipe = FileLock(place)
        assert pipe.try_acquire()
        pipe.release()
        return
    (tmp_path / "other").write_text("kept")
    place.symlink_to("other")
    with pytest.raises(OSError, match="symbolic links"):
        FileLock(place).try_acquire()
    assert (tmp_path / "other").read_text() == "kept"


def test_a_lock_whose_file_was_deleted_by_its_holder_is_not_taken(tmp_path: Path) -> None:
    """One process opened the file before it was deleted, another makes it again."""
    path = tmp_path / "lock"
    first, waiting = FileLock(path), FileLock(path)
    assert first.try_acquire()
    path.unlink()
    third = FileLock(path)
    assert third.try_acquire()
    first.release()
    assert not waiting.try_acquire()
    third.release()
    assert waiting.try_acquire()
