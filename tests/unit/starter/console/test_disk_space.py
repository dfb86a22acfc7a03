"""`starter.console.disk_space`: a full disk is said once, and that it has room again too."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from starter.console.disk_space import Disk, free_bytes

MB = 1_000_000


def news(*free: int) -> Sequence[int]:
    """Return how many lines each look tells."""
    left = list(free)
    disk = Disk(Path("/data"), lambda _directory: left.pop(0))
    return [len(disk.news()) for _ in free]


@pytest.mark.parametrize(
    ("free", "told"),
    [
        ((500 * MB, 4 * MB, 500 * MB), [0, 0, 0]),
        ((3 * MB, 0, 3 * MB), [1, 0, 0]),
        # Not at each file that comes and goes.
        ((3 * MB, 5 * MB, 3 * MB, 15 * MB, 3 * MB), [1, 0, 0, 0, 0]),
        ((0, 16 * MB, 16 * MB, 0), [1, 1, 0, 1]),
    ],
)
def test_each_change_is_reported_once(free: tuple[int, ...], told: list[int]) -> None:
    assert news(*free) == told


def test_a_full_disk_is_reported_with_path_size_and_remedy() -> None:
    (line,) = Disk(Path("/data"), lambda _directory: 1_234_567).news()
    assert line == (
        "the disk is full: 1.2 MB are free for the data directory '/data', and nothing can be "
        "saved; free some, and the session goes on by itself"
    )


def test_a_directory_that_is_not_there_is_on_the_disk_of_one_that_is(tmp_path: Path) -> None:
    assert free_bytes(tmp_path / "a" / "b") > 0


def test_a_disk_that_cannot_be_looked_at_is_not_called_full() -> None:
    def gone(directory: Path) -> int:
        raise OSError(5, "Input/output error", str(directory))

    assert Disk(Path("/data"), gone).news() == []
