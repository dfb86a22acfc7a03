"""Putting a configuration file on the disk: whole or not at all."""

import contextlib
import secrets
from collections.abc import Generator
from pathlib import Path


def create(path: Path, text: str) -> None:
    """Write a file that is not there yet.

    Raises:
        FileExistsError: something is at `path`, be it a link that leads nowhere.
        OSError: it cannot be written; nothing is left.
    """
    with path.open("x", encoding="utf-8") as file, _gone_on_failure(path):
        file.write(text)
        file.flush()


def replace(path: Path, text: str) -> None:
    """Write a file in the place of what is there, with the same rights.

    A link is replaced and not followed: a repository's could lead out of it.

    Raises:
        OSError: it cannot be written; what was there stays, and nothing else is left.
    """
    beside = path.with_name(f".{path.name}-{secrets.token_hex(4)}")
    create(beside, text)
    with _gone_on_failure(beside):
        if path.is_file() and not path.is_symlink():
            beside.chmod(path.stat().st_mode & 0o777)
        beside.replace(path)


@contextlib.contextmanager
def _gone_on_failure(path: Path) -> Generator[None]:
    try:
        yield
    except BaseException:
        path.unlink(missing_ok=True)
        raise
