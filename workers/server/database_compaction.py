"""Gives the disk back what the bundled server's database no longer uses, while no server runs.

SQLite fills freed pages again, so the file does not grow without end, but it never shrinks by
itself. A rebuild (`VACUUM`) is one transaction: after a kill or on a full disk the file is as it
was. The caller holds the server's lock, so no other process has the file open.
"""

import contextlib
import shutil
import sqlite3
from pathlib import Path
from typing import Final

from workers.server.forgotten_timers import forget_timers

LEAST_BYTES: Final = 8 << 20
"""Less is not worth the time."""
_LEAST_PART: Final = 4
"""At least a quarter of the file must be free."""
_ROOM: Final = 3
"""Copy and write-ahead log together take up to twice the file; some room stays."""


def compact(database: Path, least_bytes: int = LEAST_BYTES) -> bool:
    """Rebuild a database that is largely free pages; return whether that was done.

    A file that cannot be opened or rebuilt stays as it is: the server says what is wrong with it.
    """
    if not database.is_file():
        return False
    with contextlib.suppress(sqlite3.Error, OSError):
        if shutil.disk_usage(database.parent).free < _ROOM * database.stat().st_size:
            return False
        with contextlib.closing(sqlite3.connect(database, timeout=0)) as connection:
            with contextlib.suppress(sqlite3.Error), connection:
                forget_timers(connection)
            if not _is_worth_it(connection, least_bytes):
                return False
            with contextlib.suppress(sqlite3.Error), connection:
                _merge_indexes(connection)
            connection.isolation_level = None
            connection.execute("VACUUM")
            return True
    return False


def _merge_indexes(connection: sqlite3.Connection) -> None:
    """Let each index of words drop the entries of rows that were deleted.

    SQLite keeps them until parts of an index are merged, which only new entries bring about.
    """
    found = "SELECT name FROM sqlite_master WHERE sql LIKE 'CREATE VIRTUAL TABLE % USING fts5%'"
    for (name,) in connection.execute(found).fetchall():
        connection.execute(f'INSERT INTO "{name}"("{name}") VALUES (\'optimize\')')  # noqa: S608 (its own table's name)


def _is_worth_it(connection: sqlite3.Connection, least_bytes: int) -> bool:
    page, pages, free = (
        int(connection.execute(f"PRAGMA {name}").fetchone()[0])
        for name in ("page_size", "page_count", "freelist_count")
    )
    return free * page >= least_bytes and free * _LEAST_PART >= pages
