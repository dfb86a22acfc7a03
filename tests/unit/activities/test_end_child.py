"""`process_end.end_child`: a cancelled caller leaves no child, even if that ignores SIGTERM."""

import asyncio
import sys
from asyncio.subprocess import PIPE, Process

import pytest

from activities.process_end import end_child
from tests.waiting import ends

STUBBORN = """
import signal, subprocess, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if "group" in sys.argv:
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1e6)"])
print("ready", flush=True)
signal.pause()
"""


async def started(*arguments: str) -> Process:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", STUBBORN, *arguments), stdout=PIPE, process_group=0
    )
    assert process.stdout is not None
    assert await ends(process.stdout.readline(), "the child is ready") == b"ready\n"
    return process


@pytest.mark.parametrize("has_group", [True, False])
async def test_kills_and_reaps_a_child_that_ignores_sigterm(*, has_group: bool):
    process = await started()
    await ends(end_child(process, has_group=has_group, grace_seconds=0.01), "the child ends")
    assert process.returncode == -9


async def test_ends_the_whole_group():
    process = await started("group")
    await ends(end_child(process, has_group=True, grace_seconds=0.01), "the child ends")
    assert process.stdout is not None
    # The end of the pipe: no member of the group holds it any more.
    assert await ends(process.stdout.read(), "the grandchild ends") == b""


async def test_reaps_the_child_although_it_is_cancelled():
    process = await started()
    ending = asyncio.create_task(end_child(process, has_group=True, grace_seconds=0.01))
    await asyncio.sleep(0)
    ending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await ends(ending, "the child ends")
    assert process.returncode == -9


async def test_leaves_alone_what_has_ended():
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", "")
    await ends(process.wait(), "the child ends")
    await end_child(process, has_group=False)
    assert process.returncode == 0
