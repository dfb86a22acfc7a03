"""Makes a data directory from a backup: whole or not at all, and never over another one."""

import os
import shutil
import tarfile
import tempfile
from pathlib import Path, PurePosixPath

from pydantic import ValidationError

from workers.backups.backup_contents import (
    DATABASE,
    MANIFEST,
    SCHEMA,
    BackupError,
    Manifest,
    is_known,
)
from workers.hosting.data_version import DATA_VERSION
from workers.payload_keys import read_keys
from workers.settings import Settings


def restore_backup(settings: Settings, source: Path) -> Manifest:
    """Make the data directory from a backup.

    Args:
        settings: names the data directory, which must be empty or not exist.
        source: a file that `backup_writing.write_backup` wrote.

    Raises:
        BackupError: the file is not a backup or is of a newer release, keys are missing, or the
            data directory holds something.
        OSError: the file cannot be read, or the directory cannot be written.
    """
    _require_nothing_at(settings.data_dir)
    settings.data_dir.parent.mkdir(parents=True, exist_ok=True)
    try:
        with tarfile.open(source, "r:") as archive:
            manifest = _checked(archive, settings, source)
            if DATABASE not in archive.getnames():
                raise BackupError(f"{str(source)!r} holds no histories; use another backup")
            _extract(archive, settings.data_dir)
    except (tarfile.TarError, EOFError) as error:
        raise BackupError(
            f"{str(source)!r} is not a complete backup ({error}); use another one"
        ) from error
    return manifest


def _require_nothing_at(directory: Path) -> None:
    if directory.exists() and any(directory.iterdir()):
        raise BackupError(
            f"data directory {str(directory)!r} is not empty; move it away, or name another with "
            "BLUEFLAME_DATA_DIR"
        )


def _checked(archive: tarfile.TarFile, settings: Settings, source: Path) -> Manifest:
    first = archive.next()
    content = archive.extractfile(first) if first and first.name == MANIFEST else None
    try:
        manifest = Manifest.model_validate_json(content.read() if content else b"")
    except ValidationError as error:
        raise BackupError(f"{str(source)!r} is not a backup of Blue Flame") from error
    if manifest.schema_version > SCHEMA or manifest.data_version > DATA_VERSION:
        raise BackupError(
            f"{str(source)!r} was written by a newer release (build {manifest.build!r}); restore "
            "it with that release"
        )
    keys = settings.payload_keys
    known = read_keys(keys.get_secret_value()) if keys else {}
    missing = sorted(set(manifest.key_ids) - known.keys())
    if missing:
        raise BackupError(
            f"the histories in {str(source)!r} are encrypted, and BLUEFLAME_PAYLOAD_KEYS lacks "
            f"{missing}; set the keys as they were, and restore again"
        )
    return manifest


def _extract(archive: tarfile.TarFile, directory: Path) -> None:
    new = Path(tempfile.mkdtemp(prefix=f".{directory.name}-", dir=directory.parent))
    try:
        for member in archive:
            _put(archive, member, new)
        (new / MANIFEST).unlink(missing_ok=True)
        if directory.exists():
            directory.rmdir()
        new.rename(directory)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise


def _put(archive: tarfile.TarFile, member: tarfile.TarInfo, root: Path) -> None:
    """Put one member in its place; only files and directories that a backup can hold."""
    name = PurePosixPath(member.name)
    if not is_known(name) or not (member.isreg() or member.isdir()):
        raise BackupError(f"the backup holds {member.name!r}, which does not belong in one")
    place = root / name
    place.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    if member.isdir():
        place.mkdir(exist_ok=True)
    else:
        content = archive.extractfile(member)
        assert content is not None, "a regular file has content"
        with content, place.open("wb") as file:
            shutil.copyfileobj(content, file)
    place.chmod(member.mode & 0o777)
    if os.geteuid() == 0:
        os.chown(place, member.uid, member.gid)
    os.utime(place, (member.mtime, member.mtime))
