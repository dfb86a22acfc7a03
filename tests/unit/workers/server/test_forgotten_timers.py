"""`forgotten_timers`: only timers of workflows that are gone are deleted."""

import contextlib
import sqlite3
import uuid
from collections.abc import Generator

import pytest

from workers.server.forgotten_timers import forget_timers, run_of

KEPT, GONE = uuid.uuid4(), uuid.uuid4()


def timer(run: str) -> bytes:
    """Return a timer as the server writes it: namespace, workflow and run, then numbers."""
    texts = ((1, "namespace"), (2, "session/" + "x" * 200), (3, run))
    parts = [_text(field, text.encode()) for field, text in texts]
    return b"".join((*parts, b"\x20\x10"))


def _text(field: int, text: bytes) -> bytes:
    length = len(text)
    size = bytes([length]) if length < 0x80 else bytes([length & 0x7F | 0x80, length >> 7])
    return bytes([field << 3 | 2]) + size + text


@pytest.fixture
def database() -> Generator[sqlite3.Connection]:
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE executions (run_id BLOB)")
        connection.execute(
            "CREATE TABLE timer_tasks "
            "(shard_id INT, visibility_timestamp TEXT, task_id INT, data BLOB, data_encoding TEXT)"
        )
        connection.execute("INSERT INTO executions VALUES (?)", (KEPT.bytes,))
        rows = (
            (1, timer(str(KEPT)), "Proto3"),
            (2, timer(str(GONE)), "Proto3"),
            (3, timer(str(GONE)), "Json"),
            (4, b"\x0a\xff", "Proto3"),
            (5, timer("not a run"), "Proto3"),
        )
        for task, data, encoding in rows:
            values = (1, "2026-12-29", task, data, encoding)
            connection.execute("INSERT INTO timer_tasks VALUES (?, ?, ?, ?, ?)", values)
        yield connection


def test_timers_of_runs_that_are_gone_are_deleted_and_no_other(
    database: sqlite3.Connection,
) -> None:
    assert forget_timers(database) == 1
    left = [row[0] for row in database.execute("SELECT task_id FROM timer_tasks ORDER BY 1")]
    assert left == [1, 3, 4, 5]


def test_another_form_of_database_is_left_alone(database: sqlite3.Connection) -> None:
    database.execute("DROP TABLE executions")
    with pytest.raises(sqlite3.Error):
        forget_timers(database)
    assert database.execute("SELECT count(*) FROM timer_tasks").fetchone() == (5,)


def test_the_run_is_read_past_long_texts() -> None:
    assert run_of(timer(str(GONE))) == GONE.hex
    assert run_of(timer("z" * 36)) is None
    assert run_of(b"") is None
