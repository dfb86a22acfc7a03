"""`supervisor`: whom it takes for another supervisor; its processes are in tests/e2e."""

import asyncio
import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from activities.file_locks import FileLock, is_held
from tests.waiting import ends, is_still_going
from workers.hosting import data_layout
from workers.roles import Role
from workers.server.supervisor import (
    READY_LINE,
    Supervisor,
    SupervisorState,
    lock_path,
    read_state,
)
from workers.settings import Settings


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    made = Settings(data_dir=tmp_path / "data", temporal={"TEMPORAL_ADDRESS": "127.0.0.1:1"})
    data_layout.prepare(made)
    return made


async def test_reading_the_lock_does_not_take_it(settings: Settings) -> None:
    supervisor = Supervisor(settings, {}, roles=())
    with lock_path(settings).open("w") as look:
        fcntl.flock(look, fcntl.LOCK_SH)
        keeping = asyncio.create_task(supervisor.keep())
        await asyncio.sleep(0)  # lets it try once
        assert not supervisor.server_ready.is_set()
    await keeping
    assert supervisor.server_ready.is_set()
    assert not (settings.data_dir / "workers.json").exists()


async def test_who_stands_by_is_ready_when_the_other_one_is(settings: Settings) -> None:
    other = FileLock(lock_path(settings))
    assert other.try_acquire()
    supervisor = Supervisor(settings, {}, roles=())
    keeping = asyncio.create_task(supervisor.keep())
    await ends(supervisor.server_ready.wait(), "the server is ready")
    assert not supervisor.workers_ready.is_set()
    state = SupervisorState(pid=os.getpid(), ready=True, playbook=None)
    (settings.data_dir / "workers.json").write_text(state.model_dump_json())
    await ends(supervisor.workers_ready.wait(), "the workers are ready")
    other.release()
    await keeping


def test_the_state_of_a_supervisor_that_was_killed_does_not_count(settings: Settings) -> None:
    """The next one has the lock, and has not written its own state yet."""
    lock = FileLock(lock_path(settings))
    assert lock.try_acquire()
    with subprocess.Popen(["true"]) as ended:
        state = SupervisorState(pid=ended.pid, ready=True, playbook=None)
        (settings.data_dir / "workers.json").write_text(state.model_dump_json())
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
        assert read_state(settings) is None, "it has ended, and no one has waited for it"
    assert read_state(settings) is None
    running = SupervisorState(pid=os.getpid(), ready=True, playbook=None)
    (settings.data_dir / "workers.json").write_text(running.model_dump_json())
    assert read_state(settings) == running
    lock.release()
    assert read_state(settings) is None


async def test_cancelled_twice_it_keeps_its_lock_until_nothing_runs_any_more(
    settings: Settings, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "go")
    slow_to_end = (
        "import signal, sys\n"
        "def end(*_):\n"
        f"    sys.exit(open({str(tmp_path / 'go')!r}).read())\n"
        "signal.signal(signal.SIGTERM, end)\n"
        f"print({READY_LINE!r}, flush=True)\n"
        "while True: signal.pause()"
    )
    supervisor = Supervisor(
        settings,
        {"PATH": os.environ["PATH"]},
        command=lambda _: (sys.executable, "-c", slow_to_end),
        roles=(Role.LAND,),
    )
    keeping = asyncio.create_task(supervisor.keep())
    await ends(supervisor.workers_ready.wait(), "the workers are ready")
    for _ in range(2):
        keeping.cancel()
        assert await is_still_going(keeping)
    assert is_held(lock_path(settings))
    await asyncio.to_thread((tmp_path / "go").write_text, "")
    with pytest.raises(asyncio.CancelledError):
        await keeping
    assert not is_held(lock_path(settings))


async def test_who_supervises_also_does_what_it_was_given(settings: Settings) -> None:
    done: list[bool] = []

    async def beside(server_ready: asyncio.Event) -> None:
        await server_ready.wait()
        done.append(True)

    supervisor = Supervisor(settings, {}, roles=(), beside=beside)
    other = FileLock(lock_path(settings))
    assert other.try_acquire()
    keeping = asyncio.create_task(supervisor.keep())
    await ends(supervisor.server_ready.wait(), "the server is ready")
    assert done == []
    other.release()
    await ends(keeping, "it has supervised")
    assert done == [True]
