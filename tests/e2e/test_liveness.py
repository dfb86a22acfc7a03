"""A worker process shows that it lives: to systemd's socket, and to `health --worker`."""

import contextlib
import signal
import socket
import subprocess
import sys
from collections.abc import Generator, Sequence
from pathlib import Path

import pytest

from tests.e2e.processes import environment
from tests.e2e.typed_commands import typed
from tests.servers import running_server
from tests.waiting import PATIENCE, until_blocking
from workers.liveness.sign_of_life import Sign, read_sign, sign_file
from workers.roles import Role
from workers.settings import Settings

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


@contextlib.contextmanager
def manager(tmp_path: Path) -> Generator[socket.socket]:
    """Listen as systemd does for a unit with `Type=notify`."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as made:
        made.settimeout(PATIENCE)
        made.bind(str(tmp_path / "notify"))
        yield made


@contextlib.contextmanager
def worker(settings: Settings, notify: Path) -> "Generator[subprocess.Popen[str]]":
    """Run a worker with the fake session under that manager."""
    settings.data_dir.mkdir(exist_ok=True)
    more = {
        "NOTIFY_SOCKET": str(notify),
        "BLUEFLAME_SERVER": settings.server or "",
        "BLUEFLAME_LIVENESS_SECONDS": "4",
    }
    command = (sys.executable, "-P", "-m", "tests.e2e.fake_worker", "--roles", "workflows")
    process = subprocess.Popen(command, env=environment(settings, **more), text=True)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGCONT)
        process.kill()
        process.wait(PATIENCE)


def drain(heard: socket.socket) -> None:
    """Make room for what comes next: a full socket takes nothing."""
    heard.settimeout(0)
    with contextlib.suppress(BlockingIOError):
        while heard.recv(4_096):
            pass
    heard.settimeout(PATIENCE)


def sign(settings: Settings) -> Sign | None:
    return read_sign(sign_file(settings, Role.WORKFLOWS))


def judged(settings: Settings) -> tuple[int, str]:
    """Return the code of `health --worker`, and what it says."""
    ran = typed(settings, "health", "--worker", "workflows")
    return ran.returncode, ran.stdout + ran.stderr


def says(settings: Settings, words: Sequence[str]) -> bool:
    code, said = judged(settings)
    return code == 1 and all(each in said for each in words)


def test_a_worker_lives_until_it_hangs_loses_its_server_or_ends(tmp_path: Path) -> None:
    with manager(tmp_path) as heard, contextlib.ExitStack() as servers:
        address = servers.enter_context(running_server(tmp_path)).address
        settings = Settings(data_dir=tmp_path / "data", server=address)
        with worker(settings, tmp_path / "notify") as process:
            # Only a look in which the server has seen it ask for work brings the second line.
            assert heard.recv(4_096) == b"READY=1"
            assert heard.recv(4_096) == b"WATCHDOG=1"
            first = sign(settings)
            assert first is not None
            well = (0, "the worker of role 'workflows' is well\n")
            until_blocking(lambda: judged(settings) == well, "it is well")

            process.send_signal(signal.SIGSTOP)
            blocked = ("its event loop is blocked", f"process {process.pid}")
            until_blocking(lambda: says(settings, blocked), "it hangs")
            process.send_signal(signal.SIGCONT)
            until_blocking(lambda: judged(settings)[0] == 0, "it is well again")

            servers.close()
            unreached = ("the Temporal server does not answer",)
            until_blocking(lambda: says(settings, unreached), "it misses its server")
            drain(heard)
            process.terminate()
            assert process.wait(PATIENCE) == 0
            until_blocking(lambda: heard.recv(4_096) == b"STOPPING=1", "it says that it ends")
            assert says(settings, ("no worker of role 'workflows'",))
