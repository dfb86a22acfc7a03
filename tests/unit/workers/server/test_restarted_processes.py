"""`workers.server.restarted_processes`: real processes, started, heard, ended and reaped."""

import asyncio
import itertools
import os
import select
import signal
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests.waiting import PATIENCE, ends
from workers.server.restarted_processes import BACK_OFF, Program, back_off, keep_running, running

STUBBORN = """
import signal, subprocess, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
print("ready", child.pid, flush=True)
signal.pause()
"""
POLITE = """
import os, signal, sys
signal.signal(signal.SIGTERM, lambda *_: (os.write(1, b"bye\\n"), sys.exit(0)))
os.write(1, b"ready\\n")
while True:
    signal.pause()
"""


class Lines:
    """What a child says, to be awaited."""

    def __init__(self) -> None:
        self.all: list[str] = []
        self._new = asyncio.Condition()
        self._tasks: set[asyncio.Task[None]] = set()

    def __call__(self, line: str) -> None:
        self.all.append(line)
        task = asyncio.ensure_future(self._tell())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _tell(self) -> None:
        async with self._new:
            self._new.notify_all()

    async def until(self, count: int) -> list[str]:
        async with self._new:
            await self._new.wait_for(lambda: len(self.all) >= count)
        return self.all


def _program(tmp_path: Path, code: str, grace: float = PATIENCE) -> Program:
    return Program(
        name="child",
        argv=(sys.executable, "-c", code),
        environment={"PATH": os.environ["PATH"]},
        directory=tmp_path,
        log=tmp_path / "child.log",
        grace=timedelta(seconds=grace),
    )


def _ends(pid: int) -> bool:
    """Tell whether a process is dead or dies soon: a kill takes a moment."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    try:
        return bool(poll.poll(PATIENCE * 1_000))
    finally:
        os.close(descriptor)


async def test_a_polite_child_ends_by_itself_and_is_reaped(tmp_path: Path) -> None:
    lines = Lines()
    async with running(_program(tmp_path, POLITE), lines) as child:
        await lines.until(1)
    assert child.process.returncode == 0
    assert lines.all == ["ready", "bye"]
    assert (tmp_path / "child.log").read_text() == "ready\nbye\n"


async def test_a_stubborn_child_is_killed_with_its_group(tmp_path: Path) -> None:
    lines = Lines()
    async with running(_program(tmp_path, STUBBORN, grace=0.2), lines) as child:
        said = await lines.until(1)
    assert child.process.returncode == -signal.SIGKILL
    assert _ends(int(said[0].split()[1]))


@pytest.mark.slow
async def test_an_escaped_grandchild_does_not_hold_the_end_up(tmp_path: Path) -> None:
    lines = Lines()
    escaping = (
        "import subprocess, sys; child = subprocess.Popen([sys.executable, '-c', "
        "'import signal; signal.pause()'], start_new_session=True); print(child.pid, flush=True)"
    )
    async with running(_program(tmp_path, escaping), lines) as child:
        pid = int((await lines.until(1))[0])
        await ends(child.wait(), "the child ends")
    os.kill(pid, signal.SIGKILL)


async def test_a_cancelled_owner_reaps_all_the_same(tmp_path: Path) -> None:
    lines = Lines()
    started = asyncio.Event()
    pid = 0

    async def own() -> None:
        nonlocal pid
        async with running(_program(tmp_path, STUBBORN, grace=0.2), lines) as child:
            pid = child.pid
            await lines.until(1)
            started.set()
            await asyncio.Event().wait()

    owner = asyncio.create_task(own())
    await ends(started.wait(), "the child has started")
    owner.cancel()
    # A second cancellation, in the middle of the first one's clean-up.
    asyncio.get_running_loop().call_later(0.05, owner.cancel)
    with pytest.raises(asyncio.CancelledError):
        await owner
    assert _ends(pid)


async def test_a_child_is_told_its_line_when_it_is_known_and_its_input_stays_open(
    tmp_path: Path,
) -> None:
    lines = Lines()
    known = asyncio.Event()

    async def line() -> str:
        await known.wait()
        return "the address"

    code = (
        "import select, sys; print('up', flush=True); print(input(), flush=True)\n"
        "print(select.select([sys.stdin], [], [], 0)[0], flush=True)\n"
        "print(sys.stdin.read() == '', flush=True)"
    )
    program = replace(_program(tmp_path, code), told=line)
    async with running(program, lines):
        assert await lines.until(1) == ["up"]
        known.set()
        assert await lines.until(3) == ["up", "the address", "[]"]
    # It was ended while it read on.
    assert lines.all == ["up", "the address", "[]"]


async def test_a_child_that_cannot_be_told_meets_the_end_of_its_input(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def line() -> str:
        raise OSError("no address")

    lines = Lines()
    program = replace(_program(tmp_path, "import sys; print(sys.stdin.read() == '')"), told=line)
    async with running(program, lines) as child:
        assert await lines.until(1) == ["True"]
        assert await ends(child.wait(), "the child ends") == 0
    assert "child cannot be told what it waits for: no address" in caplog.text


async def test_a_child_that_ends_is_started_again(tmp_path: Path) -> None:
    lines = Lines()
    keeping = asyncio.create_task(keep_running(_program(tmp_path, "print('up')"), lines))
    assert (await lines.until(2))[:2] == ["up", "up"]
    keeping.cancel()
    with pytest.raises(asyncio.CancelledError):
        await keeping


async def test_a_program_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    program = Program("x", ("/nonexistent",), {}, tmp_path, tmp_path / "x.log")
    with pytest.raises(FileNotFoundError):
        async with running(program, lambda _line: None):
            pass


async def test_a_long_line_is_cut_and_kept_in_the_log(tmp_path: Path) -> None:
    lines = Lines()
    code = "print('x' * 200_000); print('end')"
    async with running(_program(tmp_path, code), lines) as child:
        await ends(child.wait(), "the child ends")
        await lines.until(2)
    assert lines.all[1] == "end"
    assert len(lines.all[0]) < 100_000
    assert (tmp_path / "child.log").stat().st_size == 200_005


def test_the_back_off_grows_and_stays() -> None:
    delays = list(itertools.islice(back_off(), len(BACK_OFF) + 2))
    assert delays == [*BACK_OFF, BACK_OFF[-1], BACK_OFF[-1]]
