"""`workers.server.lifeline`: the supervisor's line arrives; the end of its pipe stops a worker.

Each worker is a process of its own: the last resort ends whatever process it is in.
"""

import subprocess
import sys

import pytest

WORKER = """
import asyncio, sys, time
from workers.server import lifeline

async def main():
    stop = asyncio.Event()
    line = lifeline.watch(0, stop, last_resort_seconds=float(sys.argv[2]))
    print("ready", sys.stdin.read(), flush=True)
    if sys.argv[1] == "told":
        print(await line, flush=True)
    if sys.argv[1] == "stuck":
        time.sleep(600)
    await stop.wait()

asyncio.run(main())
print("stopped", flush=True)
"""


@pytest.mark.parametrize(
    ("course", "last_resort", "code", "word"),
    [
        ("well", "600", 0, "stopped\n"),
        ("told", "600", 0, "stopped\n"),
        ("stuck", "0.1", 1, ""),
    ],
)
def test_the_pipes_end_ends_the_worker(course: str, last_resort: str, code: int, word: str) -> None:
    command = (sys.executable, "-c", WORKER, course, last_resort)
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as worker:
        assert worker.stdin is not None
        assert worker.stdout is not None
        # What it starts, and itself, reads nothing there any more: the pipe has been taken.
        assert worker.stdout.readline() == "ready \n"
        if course == "told":
            worker.stdin.write("127.0.0.1:7233\n")
            worker.stdin.flush()
            assert worker.stdout.readline() == "127.0.0.1:7233\n"
        assert worker.poll() is None
        worker.stdin.close()
        assert worker.stdout.read() == word
    assert worker.returncode == code
