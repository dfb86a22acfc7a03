"""`starter.machine.system_programs`: a program that is asked is not left when the asker goes."""

import asyncio
import os
from pathlib import Path

import pytest

from starter.machine.system_programs import answer
from tests.waiting import ends, until


async def test_leaves_no_program_when_it_is_cancelled(tmp_path: Path):
    pid = tmp_path / "pid"
    script = f"echo $$ > {pid}.new; mv {pid}.new {pid}; exec sleep 1000"
    asking = asyncio.create_task(answer("sh", "-c", script))
    await until(pid.exists, "the program runs")
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await ends(asking, "the program ends")
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


async def test_says_that_a_program_is_missing(tmp_path: Path):
    assert await answer(str(tmp_path / "none")) == (None, "")
