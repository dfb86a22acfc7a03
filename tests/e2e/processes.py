"""Processes of the end-to-end tests: started, awaited, and always ended by their pid."""

import contextlib
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from tests.waiting import COMMAND_PATIENCE, PATIENCE, text_of
from tests.waiting import until_blocking as until
from workers.roles import Role
from workers.server.supervisor import read_state
from workers.settings import Settings

ROOT = Path(__file__).parents[2]
CONFIGURATION = """
version: 1
models: {planner: [scripted/a], developer: [scripted/a], reviewer: [scripted/b]}
"""


def fake_command(role: Role) -> Sequence[str]:
    """The command of a worker with the fake session."""
    return (sys.executable, "-P", "-m", "tests.e2e.fake_worker", "--roles", role)


def environment(settings: Settings, **more: str) -> dict[str, str]:
    """What a process of ours gets in a test: nothing of the developer's own."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    ports = {"BLUEFLAME_TEMPORAL_PORT": "0", "BLUEFLAME_UI_PORT": "0"}
    given = {**settings.temporal, **settings.as_environment()}
    return {**kept, **ports, **given, "PYTHONPATH": str(ROOT), **more}


def is_alive(pid: int) -> bool:
    """Tell whether a process runs (a zombie does not)."""
    stat = _told(pid, "stat")
    return stat != "" and stat.rpartition(")")[2].split()[0] != "Z"


def command_line(pid: int) -> list[str]:
    """Return what a process was started with; nothing of one that has ended."""
    return _told(pid, "cmdline").split("\0")


def children(pid: int) -> list[int]:
    """Return the processes that `pid` started."""
    return [int(child) for child in _told(pid, f"task/{pid}/children").split()]


def _told(pid: int, file: str) -> str:
    # A process may end between any two looks, also between the file's opening and its reading.
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/{file}").read_text()
    return ""


@contextlib.contextmanager
def up(settings: Settings) -> "Generator[subprocess.Popen[bytes]]":
    """Run server and fake workers in a process of their own, ready when the block is entered."""
    with _supervisor(settings) as process:
        until(
            lambda: is_ready(settings, process.pid),
            "server and workers are ready",
            seen=lambda: (read_state(settings), text_of(settings.data_dir / "fake-up.log")),
        )
        yield process


def standing_by_mark(settings: Settings) -> Path:
    """Return the file that a second supervisor makes once it waits."""
    return settings.data_dir / "standing-by"


@contextlib.contextmanager
def up_standing_by(settings: Settings) -> "Generator[subprocess.Popen[bytes]]":
    """Run a second supervisor; it waits for the first one's end when the block is entered."""
    with _supervisor(settings) as process:
        until(
            standing_by_mark(settings).exists,
            "the second supervisor stands by",
            seen=lambda: text_of(settings.data_dir / "fake-up.log"),
        )
        yield process


@contextlib.contextmanager
def _supervisor(settings: Settings) -> "Generator[subprocess.Popen[bytes]]":
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    with (settings.data_dir / "fake-up.log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "tests.e2e.fake_up"],
            env=environment(settings),
            stdout=log,
            stderr=log,
        )
        try:
            yield process
        finally:
            if process.poll() is None:
                end(process)


def is_ready(settings: Settings, pid: int) -> bool:
    """Tell whether the supervisor `pid` has all its workers."""
    state = read_state(settings)
    return state is not None and state.pid == pid and state.ready


def end(process: "subprocess.Popen[bytes]") -> None:
    """End a supervisor and wait until what it started is gone too."""
    started = children(process.pid)
    process.terminate()
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    until(
        lambda: not any(map(is_alive, started)),
        "the children are gone",
        seen=lambda: [command_line(each) for each in started if is_alive(each)],
    )


def kill(pid: int) -> None:
    """Kill a process that a test started."""
    os.kill(pid, signal.SIGKILL)


def blueflame(
    settings: Settings, *arguments: str, more: Mapping[str, str] = MappingProxyType({})
) -> "subprocess.CompletedProcess[str]":
    """Run one command to its end, without a terminal; where it does not end, tell what it said."""
    command = (sys.executable, "-m", "starter", *arguments)
    return ended(command, environment(settings, **more))


def ended(
    command: Sequence[str],
    variables: Mapping[str, str],
    cwd: Path = ROOT,
    patience: float = COMMAND_PATIENCE,
) -> "subprocess.CompletedProcess[str]":
    """Run a program to its end, which may take so many seconds.

    Raises:
        AssertionError: it did not end; with all that it said.
    """
    try:
        return subprocess.run(
            command,
            env=variables,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=patience,
        )
    except subprocess.TimeoutExpired as error:
        what = f"waited {patience:.0f} s for the end of: {shlex.join(command)}"
        raise AssertionError(f"{what}; it said: {error.stdout!r} {error.stderr!r}") from None


def repository(path: Path, files: Mapping[str, str]) -> Path:
    """Make a small repository with one commit."""
    path.mkdir(parents=True)
    for name, text in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text)
    author = ("-c", "user.name=t", "-c", "user.email=t@example.invalid")
    for step in (("init", "-q", "-b", "main"), ("add", "."), (*author, "commit", "-qm", "first")):
        subprocess.run(["git", *step], cwd=path, check=True)
    return path
