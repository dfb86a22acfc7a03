"""A backup is one moment, is restored whole or not at all, and refuses what it cannot be."""

import base64
import contextlib
import io
import json
import os
import sqlite3
import tarfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from pydantic import SecretStr

from workers.backups.backup_contents import MANIFEST, BackupError, Manifest
from workers.backups.backup_lock import DataInUseError, alone
from workers.backups.backup_reading import restore_backup
from workers.backups.backup_writing import add_file, write_backup
from workers.hosting import data_layout
from workers.settings import Settings

KEY = "k1:" + base64.b64encode(bytes(32)).decode()
REPOSITORY = "host/repositories/r.git"
KEPT = {
    "store/ab/abcd": "a blob",
    "reports/s.html": "a report",
    "builds/1-a/workflows/x.py": "code",
    "host/name": "here",
    "host/baselines/b": "a baseline",
    f"{REPOSITORY}/HEAD": "ref: refs/heads/main",
    f"{REPOSITORY}/packed-refs": "refs",
    f"{REPOSITORY}/refs/blueflame/s/base": "1" * 40,
    f"{REPOSITORY}/objects/pack/p.pack": "objects",
    "host/orphans/j/token": "running",
}
LEFT = {
    "logs/x.log": "log",
    "server.json": "{}",
    "workers.lock": "",
    "host/worktrees/r/w/a.txt": "work",
    "host/snapshots/s/x": "set-up",
    f"{REPOSITORY}/worktrees/w/gitdir": "/elsewhere",
    f"{REPOSITORY}/refs/blueflame/s/base.lock": "",
    f"{REPOSITORY}/objects/pack/tmp_pack_1": "half",
    "store/.x.new": "half",
}


def directory(tmp_path: Path, **settings: Any) -> Settings:
    """Make a data directory with all kinds of files, and a database with one row."""
    made = Settings(data_dir=tmp_path / "data", **settings)
    data_layout.prepare(made)
    for name, text in {**KEPT, **LEFT}.items():
        path = made.data_dir / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    with contextlib.closing(sqlite3.connect(data_layout.database(made))) as database:
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("CREATE TABLE t (x)")
        database.execute("INSERT INTO t VALUES (1)")
        database.commit()
    return made


def files(root: Path) -> dict[str, str]:
    found = (path for path in root.rglob("*") if path.is_file() and path.suffix != ".db")
    return {str(path.relative_to(root)): path.read_text() for path in found}


def rows(settings: Settings) -> list[int]:
    with contextlib.closing(sqlite3.connect(data_layout.database(settings))) as database:
        return [row[0] for row in database.execute("SELECT x FROM t")]


def other(tmp_path: Path, **settings: Any) -> Settings:
    return Settings(data_dir=tmp_path / "other" / "data", **settings)


def test_what_sessions_need_is_restored_and_nothing_else(tmp_path: Path) -> None:
    source, target = directory(tmp_path), other(tmp_path)
    manifest = write_backup(source, tmp_path / "b.tar")
    assert restore_backup(target, tmp_path / "b.tar") == manifest
    assert files(target.data_dir) == {**KEPT, "version": "1\n"}
    assert rows(target) == [1]
    assert os.listdir(tmp_path / "other") == ["data"]


def test_a_backup_is_taken_while_the_database_is_written(tmp_path: Path) -> None:
    source, target = directory(tmp_path), other(tmp_path)
    with contextlib.closing(sqlite3.connect(data_layout.database(source))) as writer:
        writer.execute("INSERT INTO t VALUES (2)")  # not committed, so it has not happened yet
        write_backup(source, tmp_path / "b.tar")
        writer.commit()
    restore_backup(target, tmp_path / "b.tar")
    assert rows(target) == [1]
    assert rows(source) == [1, 2]


GONE = {
    f"{REPOSITORY}/objects/pack/p.pack": True,
    f"{REPOSITORY}/objects/ab/cdef": True,
    f"{REPOSITORY}/objects/pack/tmp_idx_1": False,  # git had not finished it
    f"{REPOSITORY}/packed-refs": False,
    "store/ab/abcd": False,  # no open session names it
    "host/orphans/j/token": False,
}
"""Files that were listed and are gone, and whether the backup would lack something."""


@pytest.mark.parametrize(("name", "is_missed"), GONE.items(), ids=GONE.keys())
def test_objects_that_move_while_they_are_copied_make_no_backup(
    tmp_path: Path, name: str, is_missed: bool
) -> None:
    source = directory(tmp_path)
    (source.data_dir / name).unlink(missing_ok=True)
    with tarfile.open(tmp_path / "b.tar", "w") as made:
        if is_missed:
            with pytest.raises(BackupError, match=r"repacked .* run `backup` again"):
                add_file(made, source.data_dir, PurePosixPath(name))
        else:
            add_file(made, source.data_dir, PurePosixPath(name))
        assert made.getnames() == []


def test_a_backup_and_a_clean_up_wait_for_each_other(tmp_path: Path) -> None:
    source = directory(tmp_path)
    with alone(source.data_dir):
        with pytest.raises(DataInUseError, match="is already running"):
            write_backup(source, tmp_path / "b.tar")
        assert [path.name for path in tmp_path.iterdir()] == ["data"]
    write_backup(source, tmp_path / "b.tar")
    with alone(source.data_dir):
        pass  # it was given back


def test_only_its_owner_reads_a_backup(tmp_path: Path) -> None:
    write_backup(directory(tmp_path), tmp_path / "b.tar")
    assert (tmp_path / "b.tar").stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.tar", "data"]


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    source = directory(tmp_path)
    (tmp_path / "secret").write_text("secret")
    (source.data_dir / "store" / "ab" / "link").symlink_to(tmp_path / "secret")
    write_backup(source, tmp_path / "b.tar")
    assert b"secret" not in (tmp_path / "b.tar").read_bytes()


def test_a_file_that_exists_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "b.tar").write_text("mine")
    with pytest.raises(BackupError, match="exists already"):
        write_backup(directory(tmp_path), tmp_path / "b.tar")
    assert (tmp_path / "b.tar").read_text() == "mine"


def test_nothing_is_backed_up_where_nothing_ran(tmp_path: Path) -> None:
    with pytest.raises(BackupError, match="has no histories"):
        write_backup(other(tmp_path), tmp_path / "b.tar")


def test_a_restore_never_replaces_a_data_directory(tmp_path: Path) -> None:
    source = directory(tmp_path)
    write_backup(source, tmp_path / "b.tar")
    with pytest.raises(BackupError, match="is not empty"):
        restore_backup(source, tmp_path / "b.tar")


def test_encrypted_histories_need_their_keys_which_are_not_in_the_backup(tmp_path: Path) -> None:
    keys = SecretStr(KEY)
    manifest = write_backup(directory(tmp_path, payload_keys=keys), tmp_path / "b.tar")
    assert manifest.key_ids == ("k1",)
    assert KEY.partition(":")[2].encode() not in (tmp_path / "b.tar").read_bytes()
    with pytest.raises(BackupError, match=r"lacks \['k1'\]"):
        restore_backup(other(tmp_path), tmp_path / "b.tar")
    restore_backup(other(tmp_path, payload_keys=keys), tmp_path / "b.tar")


def archive(path: Path, *members: tuple[str, bytes]) -> None:
    with tarfile.open(path, "w") as made:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            made.addfile(info, io.BytesIO(content))


def manifest(**changes: object) -> tuple[str, bytes]:
    facts = {"at": "2026-11-01T00:00:00Z", "build": "9-z", "data_version": 1, **changes}
    return MANIFEST, json.dumps({"schema_version": 1, "kind": "blueflame backup", **facts}).encode()


BROKEN: dict[str, Callable[[Path], object]] = {
    "is not a complete backup": lambda path: path.write_bytes(b"x" * 2_000),
    "is not a backup of Blue Flame": lambda path: archive(path, ("a.txt", b"a")),
    "newer release (build '9-z')": lambda path: archive(path, manifest(schema_version=2)),
    "a newer release": lambda path: archive(path, manifest(data_version=99)),
    "holds no histories": lambda path: archive(path, manifest()),
    "'../x', which does not belong in one": lambda path: archive(
        path, manifest(), ("temporal.db", b""), ("../x", b"x")
    ),
    "'workers.lock', which": lambda path: archive(
        path, manifest(), ("temporal.db", b""), ("workers.lock", b"")
    ),
    "'store/../../x', which": lambda path: archive(
        path, manifest(), ("temporal.db", b""), ("store/../../x", b"x")
    ),
}


@pytest.mark.parametrize(("words", "write"), BROKEN.items(), ids=BROKEN.keys())
def test_what_is_not_a_whole_backup_of_this_release_is_refused(
    tmp_path: Path, words: str, write: Callable[[Path], object]
) -> None:
    write(tmp_path / "b.tar")
    with pytest.raises(BackupError) as refused:
        restore_backup(other(tmp_path), tmp_path / "b.tar")
    assert words in str(refused.value)
    assert [path for path in (tmp_path / "other").iterdir() if path.is_file()] == []
    assert not other(tmp_path).data_dir.exists()


def test_a_manifest_of_a_later_release_may_have_more_keys() -> None:
    name, content = manifest(more="x")
    assert name == MANIFEST
    assert Manifest.model_validate_json(content).build == "9-z"
