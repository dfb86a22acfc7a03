"""`pipes.PipeReader`: both ends of what a child writes, in bounded memory."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.adapters.sandbox.processes.pipes import PipeReader


async def read(limit: int, *parts: bytes) -> PipeReader:
    reader = PipeReader(limit)
    writer = reader.open()
    for part in parts:
        os.write(writer, part)
        reader.finish()
    os.close(writer)
    await reader.finished.wait()
    return reader


@pytest.mark.parametrize(
    ("limit", "parts", "kept", "cut_at"),
    [
        (10, (b"abc",), b"abc", None),
        (10, (b"abcdefghij",), b"abcdefghij", None),
        (10, (b"abcdefghijk",), b"abcdeghijk", 5),
        (10, (b"abc", b"defghijklmnop", b"q"), b"abcdemnopq", 5),
        (1, (b"ab",), b"b", 0),
    ],
)
async def test_both_ends_are_kept_and_all_is_counted(
    limit: int, parts: tuple[bytes, ...], kept: bytes, cut_at: int | None
):
    reader = await read(limit, *parts)
    assert (reader.kept, reader.cut_at) == (kept, cut_at)
    assert reader.total == sum(map(len, parts))


@given(st.lists(st.binary(min_size=1, max_size=70), max_size=20), st.integers(1, 100))
async def test_it_keeps_what_a_cut_of_the_whole_would(parts: list[bytes], limit: int):
    reader = await read(limit, *parts)
    whole = b"".join(parts)
    half = limit // 2
    ends = whole[:half] + whole[len(whole) - (limit - half) :]
    assert reader.kept == (whole if len(whole) <= limit else ends)
