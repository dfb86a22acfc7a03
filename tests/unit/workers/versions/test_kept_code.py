"""The code of each build is kept whole, once, and only as long as it is needed."""

from datetime import timedelta
from pathlib import Path

from workers.hosting import data_layout
from workers.settings import Settings
from workers.versions.build_id import build_id
from workers.versions.kept_code import builds_dir, keep_code, kept_builds, remove_code


def settings(tmp_path: Path, build: str) -> Settings:
    made = Settings(data_dir=tmp_path / "data", build=build)
    data_layout.prepare(made)
    return made


def test_the_copy_is_the_same_build(tmp_path: Path) -> None:
    own = settings(tmp_path, "1-a")
    keep_code(own)
    assert kept_builds(own) == {"1-a"}
    kept = builds_dir(own) / "1-a"
    assert build_id(kept) == build_id(data_layout.packages_root())
    assert {path.name for path in kept.iterdir()} == {"workflows", "activities", "workers"}
    assert not list(kept.rglob("__pycache__"))


def test_what_is_kept_stays_as_it_is(tmp_path: Path) -> None:
    own = settings(tmp_path, "1-a")
    (builds_dir(own) / "1-a").mkdir(parents=True)
    keep_code(own)
    assert list((builds_dir(own) / "1-a").iterdir()) == []


def test_nothing_is_kept_where_it_cannot_be_written(tmp_path: Path) -> None:
    own = settings(tmp_path, "1-a")
    builds_dir(own).write_text("in the way")
    keep_code(own)
    assert builds_dir(own).read_text() == "in the way"


def test_code_that_no_session_needs_goes(tmp_path: Path) -> None:
    own = settings(tmp_path, "3-c")
    for name in ("1-a", "2-b", "3-c"):
        (builds_dir(own) / name).mkdir(parents=True)
    assert remove_code(own, {"2-b"}) == []
    assert remove_code(own, {"2-b"}, timedelta()) == ["1-a"]
    assert kept_builds(own) == {"2-b", "3-c"}
