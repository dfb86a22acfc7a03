"""A database that the bundled server cannot use, told in one sentence (field report G54)."""

import asyncio
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from workers.server.dev_server import EmbeddedServer
from workers.settings import Settings
from workers.temporal.database_faults import database_fault
from workers.temporal.temporal_errors import TemporalUnavailableError


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("Error: … file is not a database (26)", "is damaged"),
        ("Error: … database disk image is malformed (11)", "is damaged"),
        ("Error: … database is locked (5) (SQLITE_BUSY)", "is held by another program"),
        ("Error: … SQL logic error: no such table: namespaces (1)", "of another version"),
        ("Error: … unable to open database file (14)", "cannot be opened"),
        ("Error: … attempt to write a readonly database (8)", "cannot be opened"),
    ],
)
def test_each_fault_names_the_file_and_what_to_do(said: str, words: str) -> None:
    told = database_fault(said, Path("/d/temporal.db"))
    assert told.startswith("the server's database '/d/temporal.db' ")
    assert words in told


def test_other_words_are_not_the_databases() -> None:
    assert database_fault("bind: address already in use", Path("/d/temporal.db")) == ""


def damaged(database: Path) -> None:
    database.write_bytes(b"no database " * 100)


def empty(database: Path) -> None:
    database.touch()


def cut(database: Path) -> None:
    connection = sqlite3.connect(database)
    connection.execute("create table a (b)")
    connection.executemany("insert into a values (?)", [("x" * 500,)] * 100)
    connection.commit()
    connection.close()
    database.write_bytes(database.read_bytes()[:9_000])


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("make", "words"), [(damaged, "is damaged"), (empty, "another version"), (cut, "is damaged")]
)
async def test_the_real_server_says_these_words(
    tmp_path: Path, make: Callable[[Path], None], words: str
) -> None:
    settings = Settings(data_dir=tmp_path, temporal_port=0, ui_port=0)
    settings.logs_dir.mkdir()
    make(tmp_path / "temporal.db")
    server = EmbeddedServer(settings, asyncio.Event(), is_known=False)
    with pytest.raises(TemporalUnavailableError, match=words):
        await server.keep()
