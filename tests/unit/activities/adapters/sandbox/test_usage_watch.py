import os
from pathlib import Path

from activities.adapters.sandbox.usage_watch import ProcMeter, session_of, written_since


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
    size, files = written_since(tmp_path, since)
    assert 50_000 <= size < 90_000
    assert files == 3


def test_a_tree_that_vanishes_is_no_error(tmp_path: Path):
    assert written_since(tmp_path / "none", 0) == (0, 0)


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
        assert meter.unlinked_bytes()[os.fstat(fd).st_dev] >= 3_000_000
    finally:
        os.close(fd)


def test_what_is_gone_measures_nothing(tmp_path: Path):
    meter = ProcMeter(tmp_path / "none", scratch=(tmp_path / "none",))
    assert meter.memory_bytes(exact=True) == 0
    assert meter.scratch_files() == 0
    assert meter.unlinked_bytes() == {}
    assert session_of(tmp_path) is None
