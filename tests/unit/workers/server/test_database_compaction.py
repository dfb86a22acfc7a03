"""`database_compaction`: a database shrinks if it is worth it, and is never harmed."""

import contextlib
import os
import sqlite3
from pathlib import Path

import pytest

from workers.server.database_compaction import compact

LEAST = 1 << 20


def filled(path: Path, kept: int, deleted: int) -> None:
    """Make a database with rows of 10 kB, some of them deleted again."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, data BLOB)")
        rows = [(number, os.urandom(10_000)) for number in range(kept + deleted)]
        connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
        connection.execute("DELETE FROM t WHERE id >= ?", (kept,))
        connection.commit()


def rows_of(path: Path) -> int:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return int(connection.execute("SELECT count(*) FROM t").fetchone()[0])


def test_what_was_deleted_is_given_back(tmp_path: Path) -> None:
    path = tmp_path / "temporal.db"
    filled(path, kept=20, deleted=400)
    before = path.stat().st_size
    assert compact(path, LEAST)
    assert path.stat().st_size < before / 5
    assert rows_of(path) == 20
    assert not compact(path, LEAST)


def test_an_index_of_words_keeps_nothing_of_deleted_rows(tmp_path: Path) -> None:
    path = tmp_path / "temporal.db"
    filled(path, kept=20, deleted=400)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE VIRTUAL TABLE words USING fts5 (word)")
        for number in range(50):
            connection.execute("INSERT INTO words VALUES (?)", (f"word{number}",))
            connection.commit()
        connection.execute("DELETE FROM words WHERE word <> 'word7'")
        connection.commit()
        before = bytes_of_index(connection)
    assert compact(path, LEAST)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert bytes_of_index(connection) < before / 5
        rows = connection.execute("SELECT word FROM words WHERE words MATCH 'word7'").fetchall()
        assert rows == [("word7",)]


def bytes_of_index(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT sum(length(block)) FROM words_data").fetchone()[0])


@pytest.mark.parametrize(("kept", "deleted"), [(20, 20), (1_000, 200)])
def test_little_that_is_free_stays(tmp_path: Path, kept: int, deleted: int) -> None:
    path = tmp_path / "temporal.db"
    filled(path, kept, deleted)
    assert not compact(path, LEAST)
    assert rows_of(path) == kept


def test_a_database_in_use_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "temporal.db"
    filled(path, kept=20, deleted=400)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as writing:
        writing.execute("BEGIN IMMEDIATE")
        writing.execute("INSERT INTO t VALUES (9999, x'00')")
        assert not compact(path, LEAST)
        writing.execute("COMMIT")
    assert rows_of(path) == 21


@pytest.mark.parametrize("content", [None, b"", b"not a database, but a text of some length" * 40])
def test_what_is_not_a_database_stays_as_it_is(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "temporal.db"
    if content is not None:
        path.write_bytes(content)
    assert not compact(path, LEAST)
    assert (path.read_bytes() if path.exists() else None) == content
