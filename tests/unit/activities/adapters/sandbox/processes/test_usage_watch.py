import ctypes
import mmap
import os
import tempfile
from pathlib import Path

from activities.adapters.sandbox.processes.usage_watch import (
    Nameless,
    ProcMeter,
    Written,
    session_of,
    written_since,
)

_LIBC = ctypes.CDLL(None)
_LIBC.mmap.restype = ctypes.c_void_p
_LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]


def test_only_what_was_written_since_then_counts(tmp_path: Path):
    (tmp_path / "old").write_bytes(b"x" * 100_000)
    since = (tmp_path / "old").stat().st_ctime_ns + 1
    (tmp_path / "d").mkdir()
    new = tmp_path / "d" / "new"
    new.touch()
    while new.stat().st_ctime_ns < since:
        new.write_bytes(b"x" * 50_000)
    (tmp_path / "d").touch()
    new.write_bytes(b"x" * 50_000)
    os.link(new, tmp_path / "d" / "second-name")
    (tmp_path / "link").symlink_to("/usr")
    written = written_since(tmp_path, since)
    assert 50_000 <= written.size_bytes < 90_000
    assert (written.files, written.is_whole) == (3, True)


def test_a_tree_that_vanishes_is_no_error(tmp_path: Path):
    assert written_since(tmp_path / "none", 0) == Written(0, 0, is_whole=True)


def test_a_closed_folder_is_told_unless_it_was_closed_before(tmp_path: Path):
    """Field report G42."""
    closed = tmp_path / "d" / "closed"
    closed.mkdir(parents=True)
    (closed / "big").write_bytes(b"x" * 50_000)
    closed.chmod(0)
    closed_at = closed.stat().st_ctime_ns
    try:
        assert not written_since(tmp_path, closed_at).is_whole
        assert written_since(tmp_path, closed_at + 1).is_whole
    finally:
        closed.chmod(0o700)


def test_files_below_a_path_that_is_too_long_count(tmp_path: Path):
    """Field report G42."""
    top = os.open(tmp_path, os.O_RDONLY)
    place = top
    for _ in range(40):
        os.mkdir("n" * 250, dir_fd=place)
        below = os.open("n" * 250, os.O_RDONLY, dir_fd=place)
        os.close(place)
        place = below
    file = os.open("big", os.O_WRONLY | os.O_CREAT, dir_fd=place)
    os.write(file, b"x" * 900_000)
    os.close(file)
    os.close(place)
    written = written_since(tmp_path, 0)
    assert written.size_bytes >= 900_000
    assert (written.files, written.is_whole) == (41, True)


def test_a_deleted_file_that_is_only_mapped_is_found(tmp_path: Path):
    meter = ProcMeter(Path("/proc"), session=os.getsid(0))
    with tempfile.TemporaryFile(dir=tmp_path) as file:
        os.posix_fallocate(file.fileno(), 0, 3 << 20)
        device = os.fstat(file.fileno()).st_dev
        place = _LIBC.mmap(None, 3 << 20, mmap.PROT_READ, mmap.MAP_SHARED, file.fileno(), 0)
    assert meter.nameless().by_device[device] >= 3 << 20
    _LIBC.munmap(ctypes.c_void_p(place), 3 << 20)


def test_our_own_session_is_measured():
    session = session_of(Path("/proc/self"))
    assert session == os.getsid(0)
    meter = ProcMeter(Path("/proc"), session=session)
    assert meter.memory_bytes(exact=False) > 1 << 20
    assert meter.memory_bytes(exact=True) > 1 << 20


def test_a_nameless_file_is_found():
    meter = ProcMeter(Path("/proc"), session=os.getsid(0))
    fd = os.memfd_create("x")
    try:
        os.write(fd, bytes(3_000_000))
        assert meter.nameless().by_device[os.fstat(fd).st_dev] >= 3_000_000
    finally:
        os.close(fd)


def test_what_is_gone_measures_nothing(tmp_path: Path):
    meter = ProcMeter(tmp_path / "none", scratch=(tmp_path / "none",))
    assert meter.memory_bytes(exact=True) == 0
    assert meter.scratch_files() == 0
    assert meter.nameless() == Nameless()
    assert session_of(tmp_path) is None
