"""Deletes from the bundled server's database the timers of workflows that it has deleted.

Each workflow that ends sets a timer for the end of its retention. If a clean-up deletes the
workflow earlier, the timer stays until then, and finds nothing: some kilobytes for each session.
The caller holds the server's lock. Whatever does not look as expected stays as it is.
"""

import sqlite3
from collections.abc import Iterator
from typing import Final

_RUN_FIELD: Final = 3
"""Of the server's `TimerTaskInfo`: the id of the run that the timer belongs to."""
_TEXT: Final = 2
"""The wire type of texts in protobuf."""
_RUN_LENGTH: Final = 36


def forget_timers(connection: sqlite3.Connection) -> int:
    """Delete timers of runs that are not there any more; return how many.

    Args:
        connection: to the database, in no transaction. The caller commits.

    Raises:
        sqlite3.Error: the database is of another form; nothing was deleted.
    """
    runs = {bytes(run).hex() for (run,) in connection.execute("SELECT run_id FROM executions")}
    columns = "shard_id, visibility_timestamp, task_id, data"
    found = connection.execute(f"SELECT {columns} FROM timer_tasks WHERE data_encoding = 'Proto3'")  # noqa: S608 (constants only)
    gone = [
        (shard, at, task)
        for shard, at, task, data in found
        if (run := run_of(bytes(data))) is not None and run not in runs
    ]
    connection.executemany(
        "DELETE FROM timer_tasks WHERE shard_id = ? AND visibility_timestamp = ? AND task_id = ?",
        gone,
    )
    return len(gone)


def run_of(timer: bytes) -> str | None:
    """Return the run that a timer belongs to, as 32 hexadecimal digits; None if it names none.

    Args:
        timer: a protobuf message whose first fields are texts.
    """
    try:
        for field, value in _texts(timer):
            if field == _RUN_FIELD and len(value) == _RUN_LENGTH:
                run = value.decode("ascii").replace("-", "")
                return run if len(bytes.fromhex(run)) == len(run) // 2 else None
    except (IndexError, ValueError):
        return None
    return None


def _texts(message: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the first fields of a message, up to the first that is no text."""
    at = 0
    while at < len(message):
        key, at = _number(message, at)
        if key & 7 != _TEXT:
            return
        length, at = _number(message, at)
        yield key >> 3, message[at : at + length]
        at += length


def _number(message: bytes, at: int) -> tuple[int, int]:
    """Return a number of protobuf's variable length, and where it ends."""
    value = shift = 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return value, at
