"""`workers.server.tether`: a third-party program dies with its parent."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import workers.server

TETHER = Path(workers.server.__file__).with_name("tether.py")
PARENT = """
import os, subprocess, sys
child = subprocess.Popen([sys.executable, "-I", "-S", sys.argv[1], str(os.getpid()), sys.executable,
    "-c", "import os, signal; os.write(1, str(os.getpid()).encode() + b'\\\\n'); signal.pause()"])
sys.stdin.read()
"""


def test_a_parent_that_is_gone_already_starts_nothing() -> None:
    run = subprocess.run(
        [sys.executable, "-I", "-S", TETHER, "-1", "/bin/echo", "started"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.returncode, run.stdout) == (1, "")


@pytest.mark.skipif(sys.platform != "linux", reason="the tether is the kernel's")
def test_a_killed_parent_takes_the_program_along() -> None:
    # The pipe's end is open as long as the program lives.
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, TETHER], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        os.kill(parent.pid, signal.SIGKILL)
        assert parent.stdout.read() == b""
    assert pid > 0
