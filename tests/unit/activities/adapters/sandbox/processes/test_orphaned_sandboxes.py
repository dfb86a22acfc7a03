import asyncio
import json
import os
import select
import subprocess
import sys
from pathlib import Path

import pytest

from activities.adapters.sandbox.bubblewrap import BubblewrapSandbox
from activities.adapters.sandbox.processes import orphaned_sandboxes
from activities.adapters.sandbox.processes.orphaned_sandboxes import sweep_orphans
from activities.ports.sandbox_port import SandboxCommand, Workspace
from tests.contract.test_sandbox import may_lock
from tests.waiting import PATIENCE, shell_until, until, until_blocking

_CHECKOUT = Path(orphaned_sandboxes.__file__).resolve().parents[3]


def is_dead(pidfd: int) -> bool:
    return bool(select.select([pidfd], [], [], PATIENCE)[0])


def test_a_sandbox_without_its_bubblewrap_is_ended():
    reader, writer = os.pipe()
    argv = (
        "bwrap",
        "--unshare-all",
        "--ro-bind",
        "/",
        "/",
        "--info-fd",
        str(writer),
        "sleep",
        "600",
    )
    with subprocess.Popen(argv, pass_fds=(writer,)) as outside:
        os.close(writer)
        with open(reader) as info:
            pidfd = os.pidfd_open(json.load(info)["child-pid"])
        outside.kill()
    sweep_orphans()  # or another test process, which has the same user and came before
    assert is_dead(pidfd)
    os.close(pidfd)


async def test_a_running_sandbox_is_left_alone(tmp_path: Path):
    argv = ("bash", "-c", f"touch started; {shell_until('go')}; echo well")
    command = SandboxCommand(argv=argv, workspace=Workspace(path=tmp_path))
    task = asyncio.ensure_future(BubblewrapSandbox().run(command))
    await until((tmp_path / "started").exists, "the command has started")
    sweep_orphans()
    (tmp_path / "go").touch()
    assert (await task).output == b"well\n"


_WORKER = """
import asyncio, fcntl, os, sys
from pathlib import Path
from activities.adapters.sandbox.bubblewrap import BubblewrapSandbox
from activities.ports.sandbox_port import SandboxCommand, Workspace

async def main():
    sandbox, workspace = BubblewrapSandbox(), Workspace(path=Path(sys.argv[1]))
    await sandbox.run(SandboxCommand(argv=("true",), workspace=workspace))
    held = os.open(sys.argv[2], os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
    fcntl.flock(held, fcntl.LOCK_EX)
    print("ready", flush=True)
    command = SandboxCommand(argv=("sh", "-c", "sleep 60; touch ran"), workspace=workspace)
    await sandbox.run(command, held)

asyncio.run(main())
"""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("milliseconds", [0, 2, 4, 6, 8, 12])
def test_a_worker_killed_during_the_start_leaves_nothing(tmp_path: Path, milliseconds: int):
    tree = tmp_path / "tree"
    tree.mkdir()
    argv = (sys.executable, "-c", _WORKER, str(tree), str(tmp_path / "lock"))
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(_CHECKOUT)}
    with subprocess.Popen(argv, env=env, stdout=subprocess.PIPE) as worker:
        assert worker.stdout is not None
        assert worker.stdout.readline() == b"ready\n"
        select.select([], [], [], milliseconds / 1000)
        worker.kill()

    def nothing_holds_the_lock() -> bool:
        sweep_orphans()
        return may_lock(tmp_path / "lock")

    until_blocking(nothing_holds_the_lock, "nothing of the sandbox is left to hold the lock")
    assert not (tree / "ran").exists()
