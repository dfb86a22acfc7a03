"""Server and workers under a supervisor: killed, restarted, handed over, and never left behind."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Generator
from functools import partial
from pathlib import Path

import pytest

from activities.file_locks import is_held
from tests.e2e.processes import (
    CONFIGURATION,
    ROOT,
    blueflame,
    children,
    command_line,
    end,
    environment,
    is_alive,
    is_ready,
    kill,
    repository,
    until,
    up,
    up_standing_by,
)
from tests.e2e.typed_commands import typed
from tests.waiting import PATIENCE
from workers.server.supervisor import read_state
from workers.settings import Settings
from workers.temporal.connection import read_server_file

pytestmark = pytest.mark.e2e

ELSEWHERE = """
version: 1
providers: {local: {base_url: "http://127.0.0.1:9/v1"}}
models: {planner: [local/m], developer: [local/m], reviewer: [scripted/b]}
"""


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path / "data", temporal_port=0, ui_port=0)


def _named(pid: int, word: str) -> Generator[int]:
    for child in children(pid):
        if any(word in part for part in command_line(child)):
            yield child


def _answers(settings: Settings) -> bool:
    return typed(settings, "ls").returncode == 0


def _is_approved(settings: Settings, what: str, session: str, after: str) -> bool:
    """Approve; a server that has only just come back may lose its answer to what it took."""
    said = typed(settings, "approve", what, "--session", session)
    return said.returncode == 0 or after in said.stderr


@contextlib.contextmanager
def _stopped(pid: int) -> Generator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def _takes(program: socket.socket, address: str) -> bool:
    host, _, port = address.rpartition(":")
    program.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    with contextlib.suppress(OSError):
        program.bind((host, int(port)))
        program.listen()
        return True
    return False


@pytest.mark.slow
def test_a_killed_worker_and_a_killed_server_come_back_where_they_are_known(
    settings: Settings,
) -> None:
    with up(settings) as supervisor:
        address = read_server_file(settings)
        assert address is not None
        (worker,) = _named(supervisor.pid, "fake_worker")
        kill(worker)
        until(lambda: set(_named(supervisor.pid, "fake_worker")) - {worker} != set(), "a worker")
        (server,) = _named(supervisor.pid, "start-dev")
        with socket.socket() as other:
            # It sees the end only once another program has the port.
            with _stopped(supervisor.pid):
                kill(server)
                until(partial(_takes, other, address.address), "the port is free")
            told = settings.data_dir / "fake-up.log"
            until(lambda: "has taken its address" in told.read_text(), "the port is missed")
        until(lambda: _answers(settings), "the server answers")
        assert read_server_file(settings) == address


def test_a_killed_supervisor_leaves_nothing_behind(settings: Settings) -> None:
    with up(settings) as supervisor:
        started = children(supervisor.pid)
        assert len(started) == 2
        (server,) = _named(supervisor.pid, "start-dev")
        # A stopped process dies of no polite signal: long enough to look at its lock.
        os.kill(server, signal.SIGSTOP)
        kill(supervisor.pid)
        supervisor.wait(PATIENCE)
        assert is_held(settings.data_dir / "temporal.lock")
        os.kill(server, signal.SIGCONT)
        until(lambda: not any(map(is_alive, started)), "server and worker ended")
    until(lambda: not is_held(settings.data_dir / "temporal.lock"), "the server's lock is free")
    assert read_state(settings) is None


@pytest.mark.slow
def test_a_second_supervisor_stands_by_and_takes_over(settings: Settings) -> None:
    with up(settings) as first, up_standing_by(settings) as second:
        assert children(second.pid) == []
        end(first)
        until(lambda: is_ready(settings, second.pid), "the second one has workers")
        assert _answers(settings)


@pytest.mark.slow
def test_workers_without_a_sandbox_say_so_and_get_no_session_that_wants_one(
    settings: Settings, tmp_path: Path
) -> None:
    repo = repository(tmp_path / "repo", {"a.txt": "a\n"})
    config = tmp_path / "config.yaml"
    config.write_text(CONFIGURATION)
    played = ROOT / "examples" / "demo" / "playbook.yaml"
    bare = settings.model_copy(update={"sandbox": "none", "playbook": played})
    assert "note    sandbox   NONE" in typed(bare, "doctor", "--repo", str(repo)).stdout
    with up(bare):
        same = played.parent / ".." / "demo" / "playbook.yaml"
        said = typed(settings, "up", "--detach", "--playbook", str(same)).stdout
        assert f"SCRIPTED: {played} is played" in said
        assert "Sandbox    NONE" in said
        checked = typed(settings, "doctor", "--repo", str(repo)).stdout
        assert f"keeps them\n{' ' * 18}Models     SCRIPTED: {played} is played" in checked
        goal = ("run", "Fix it", "--repo", str(repo), "--config", str(config))
        refused = typed(settings, *goal)
        assert (refused.returncode, "confine nothing" in refused.stderr) == (2, True)
        config.write_text(CONFIGURATION + "sandbox: none\n")
        assert typed(settings, *goal).returncode == 3


@pytest.mark.slow
def test_a_watch_outlives_the_server(settings: Settings, tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo", {"a.txt": "a\n"})
    with up(settings) as supervisor:
        playbook = ROOT / "examples" / "demo" / "playbook.yaml"
        goal = ("run", "Fix it", "--repo", str(repo), "--playbook", str(playbook))
        refused = typed(settings, *goal)
        assert "do not play" in refused.stderr
        elsewhere = tmp_path / "elsewhere.yaml"
        elsewhere.write_text(ELSEWHERE)
        refused = typed(settings, *goal[:4], "--config", str(elsewhere))
        assert "do not know the provider 'local'" in refused.stderr
        config = tmp_path / "config.yaml"
        config.write_text(CONFIGURATION)
        started = typed(settings, *goal[:4], "--config", str(config))
        session = started.stdout.split()[1]
        with subprocess.Popen(
            [sys.executable, "-m", "starter", "watch", session, "--wait"],
            env=environment(settings),
            stdout=subprocess.PIPE,
            text=True,
        ) as watch:
            assert watch.stdout is not None
            assert watch.stdout.readline()
            (server,) = _named(supervisor.pid, "start-dev")
            kill(server)
            for what, after in (("plan", "it is running"), ("c1", "has ended: complete")):
                approved = partial(_is_approved, settings, what, session, after)
                until(approved, what)
            assert "complete" in watch.stdout.read()
        assert watch.returncode == 0


@pytest.mark.slow
def test_a_server_that_cannot_start_is_told_with_its_log(settings: Settings) -> None:
    (settings.data_dir / "temporal.db").mkdir(parents=True)
    told = blueflame(settings, "up")
    assert told.returncode == 5
    assert "temporal.log" in told.stderr
    assert "Traceback" not in told.stderr


def test_a_data_directory_that_cannot_be_is_named(settings: Settings) -> None:
    nowhere = settings.model_copy(update={"data_dir": Path("/dev/null/data")})
    for command, code in ((("up",), 2), (("up", "--detach"), 2), (("doctor",), 1)):
        told = typed(nowhere, *command)
        assert told.returncode == code, told.stderr
        assert "/dev/null/data" in told.stdout + told.stderr
        assert "Traceback" not in told.stderr
