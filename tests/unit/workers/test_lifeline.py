"""`workers.lifeline`: the end of the supervisor's pipe stops a worker, and ends a stuck one.

Each worker is a process of its own: the last resort ends whatever process it is in.
"""

import subprocess
import sys

import pytest

WORKER = """
import asyncio, sys, time
from workers import lifeline

async def main():
    stop = asyncio.Event()
    lifeline.watch(0, stop, last_resort_seconds=float(sys.argv[2]))
    print("ready", flush=True)
    if sys.argv[1] == "stuck":
        time.sleep(600)
    await stop.wait()

asyncio.run(main())
print("stopped", flush=True)
"""


@pytest.mark.parametrize(
    ("course", "last_resort", "code", "word"),
    [("well", "600", 0, "stopped\n"), ("stuck", "0.1", 1, "")],
)
def test_the_pipes_end_ends_the_worker(course: str, last_resort: str, code: int, word: str) -> None:
    command = (sys.executable, "-c", WORKER, course, last_resort)
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as worker:
        assert worker.stdin is not None
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
        assert worker.poll() is None
        worker.stdin.close()
        assert worker.stdout.read() == word
    assert worker.returncode == code
