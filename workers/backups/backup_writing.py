"""Writes a backup while server and workers run.

The histories and the refs must fit each other: a host refuses a batch of tools whose agent is two
turns further than its history. So the database's snapshot is taken first, which is one read
transaction that later writes do not touch, then the refs are read within milliseconds, and then
everything else is copied. Blobs and objects are written before anything names them and never
change, so copying them later only adds some that nothing needs.
"""

import contextlib
import io
import os
import sqlite3
import tarfile
import tempfile
from collections.abc import Generator, Iterator
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Final

from workers.backups.backup_contents import (
    DATABASE,
    FILES,
    MANIFEST,
    REPOSITORIES,
    TREES,
    BackupError,
    Manifest,
    is_ref,
    is_wanted,
)
from workers.backups.backup_lock import alone
from workers.hosting import data_layout
from workers.hosting.data_version import DATA_VERSION
from workers.payload_keys import read_keys
from workers.settings import Settings
from workers.versions.build_id import build_of

_BUSY_SECONDS: Final = 30.0


def write_backup(settings: Settings, target: Path) -> Manifest:
    """Write a backup of the data directory to a new file, readable by its owner only.

    Args:
        settings: this process's.
        target: is written whole or not at all.

    Raises:
        BackupError: there is nothing to back up, or the file exists.
        DataInUseError: another backup or a clean-up runs.
        OSError: it cannot be written, or something cannot be read.
    """
    database = data_layout.database(settings)
    if not database.is_file():
        raise BackupError(
            f"data directory {str(settings.data_dir)!r} has no histories; nothing was started here"
        )
    if target.exists():
        raise BackupError(f"{str(target)!r} exists already; name another file")
    with (
        alone(settings.data_dir),
        _written(target) as archive,
        tempfile.TemporaryDirectory(dir=target.parent) as aside,
    ):
        copy = Path(aside, DATABASE)
        with _snapshot(database) as source:
            manifest = _manifest(settings)
            refs = dict(_refs(settings.data_dir))
            with contextlib.closing(sqlite3.connect(copy)) as destination:
                source.backup(destination)
        _add_bytes(archive, MANIFEST, manifest.model_dump_json(indent=2).encode())
        archive.add(copy, DATABASE)
        for name in _rest(settings.data_dir):
            add_file(archive, settings.data_dir, name)
        for name, content in sorted(refs.items()):
            _add_bytes(archive, name, content, like=settings.data_dir / name)
    return manifest


def _manifest(settings: Settings) -> Manifest:
    keys = settings.payload_keys
    named = read_keys(keys.get_secret_value()) if keys else {}
    return Manifest(
        at=datetime.now(UTC),
        build=build_of(settings),
        data_version=DATA_VERSION,
        key_ids=tuple(named),
    )


@contextlib.contextmanager
def _written(target: Path) -> "Generator[tarfile.TarFile]":
    beside = target.with_name(f".{target.name}.new")
    beside.unlink(missing_ok=True)
    try:
        descriptor = os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(descriptor, "wb") as file, tarfile.open(fileobj=file, mode="w") as archive:
            yield archive
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)


@contextlib.contextmanager
def _snapshot(database: Path) -> "Generator[sqlite3.Connection]":
    """Hold a read transaction: what is written from now on is not seen in it."""
    with contextlib.closing(sqlite3.connect(database, timeout=_BUSY_SECONDS)) as connection:
        connection.isolation_level = None
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        yield connection


def _refs(data_dir: Path) -> Iterator[tuple[str, bytes]]:
    """Read the files that hold refs: a few small ones for each repository."""
    # Loose refs first: packing them moves a ref into the packed file before its loose file goes.
    listed = _files(data_dir, REPOSITORIES.as_posix())
    names = [name for name in listed if is_ref(name) and not (data_dir / name).is_dir()]
    for name in sorted(names, key=lambda each: each.name == "packed-refs"):
        with contextlib.suppress(FileNotFoundError), _opened(data_dir / name) as file:
            yield str(name), file.read()


def _rest(data_dir: Path) -> Iterator[PurePosixPath]:
    yield from (PurePosixPath(name) for name in FILES)
    for tree in TREES:
        listed = _files(data_dir, tree)
        yield from (name for name in listed if not is_ref(name) or (data_dir / name).is_dir())


def _files(data_dir: Path, tree: str) -> Iterator[PurePosixPath]:
    """Return the wanted files and directories below a directory, relative to the data's."""
    top = data_dir / tree
    for directory, folders, files in os.walk(top):
        here = PurePosixPath(Path(directory).relative_to(data_dir))
        folders[:] = sorted(each for each in folders if is_wanted(here / each))
        yield here
        yield from (here / each for each in sorted(files) if is_wanted(here / each))


def add_file(archive: tarfile.TarFile, data_dir: Path, name: PurePosixPath) -> None:
    """Add a file, unless it has gone since it was listed; links are not followed, and not added.

    Raises:
        BackupError: it held objects of a repository, which git has repacked since then, as the
            clean-up of another machine or a person may have it do.
    """
    try:
        _add_present(archive, data_dir, name)
    except FileNotFoundError:
        is_passing = any(part.startswith("tmp_") for part in name.parts)
        if "objects" in name.parts and name.is_relative_to(REPOSITORIES) and not is_passing:
            raise BackupError(
                f"{str(name)!r} was repacked while the backup was written, so the backup would be "
                "incomplete; run `backup` again"
            ) from None


def _add_present(archive: tarfile.TarFile, data_dir: Path, name: PurePosixPath) -> None:
    info = archive.gettarinfo(data_dir / name, str(name))
    if info.isdir():
        archive.addfile(info)
    elif info.isreg():
        with _opened(data_dir / name) as file:
            archive.addfile(archive.gettarinfo(arcname=str(name), fileobj=file), file)


def _opened(path: Path) -> BinaryIO:
    """Open a file, which must not be a link: the host's user may have swapped it."""
    return os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb")


def _add_bytes(
    archive: tarfile.TarFile, name: str, content: bytes, like: Path | None = None
) -> None:
    """Add a file with the given content, and the owner of another."""
    info = tarfile.TarInfo(name)
    if like is not None:
        with contextlib.suppress(FileNotFoundError):
            info = archive.gettarinfo(like, name)
    info.type, info.size, info.mode = tarfile.REGTYPE, len(content), 0o644
    archive.addfile(info, io.BytesIO(content))
