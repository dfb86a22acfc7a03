"""What both sandboxes promise: ends, output, limits, left-over processes, a clean environment."""

import asyncio
import fcntl
import os
import signal
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path

import pytest

from activities.adapters.sandbox.bubblewrap import BubblewrapSandbox
from activities.adapters.sandbox.unconfined import UnconfinedSandbox
from activities.ports.sandbox_port import (
    INSIDE,
    Limits,
    Sandbox,
    SandboxCommand,
    SandboxResult,
    SandboxUnavailableError,
    Workspace,
)
from tests.waiting import FOREVER, shell_until, until

Run = Callable[..., Awaitable[SandboxResult]]


@pytest.fixture(params=["bubblewrap", "none"])
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    return BubblewrapSandbox() if request.param == "bubblewrap" else UnconfinedSandbox()


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    path = tmp_path / "tree"
    path.mkdir()
    return path


@pytest.fixture
def bash(sandbox: Sandbox, workspace: Path) -> Run:
    async def run(text: str, hold: int | None = None, stdin: bytes = b"", **limits: object):
        command = SandboxCommand(
            argv=("bash", "-c", text),
            workspace=Workspace(path=workspace),
            stdin=stdin,
            limits=Limits.model_validate(limits),
        )
        return await sandbox.run(command, hold)

    return run


async def test_the_probe_says_that_it_is_usable(sandbox: Sandbox):
    probe = await sandbox.probe()
    assert (probe.usable, probe.reason) == (True, None)
    assert probe.name.split()[0] in ("bubblewrap", "none")


@pytest.mark.parametrize(
    ("text", "end", "code"),
    [
        ("true", "exited", 0),
        ("false", "exited", 1),
        ("exit 300", "exited", 44),
        ("exit 129", "exited", 129),
        ("no-such-program", "exited", 127),
        ("kill -SEGV $$", "signalled", signal.SIGSEGV),
        ("kill -KILL $$", "signalled", signal.SIGKILL),
    ],
)
async def test_the_end_of_a_command(bash: Run, text: str, end: str, code: int):
    result = await bash(text)
    assert (result.end, result.code) == (end, code)


async def test_an_argument_list_is_no_shell(sandbox: Sandbox, workspace: Path):
    command = SandboxCommand(
        argv=("printf", "%s|", "$HOME", "a b", ""), workspace=Workspace(path=workspace)
    )
    assert (await sandbox.run(command)).output == b"$HOME|a b||"


async def test_a_program_that_does_not_exist_is_an_end_not_an_error(
    sandbox: Sandbox, workspace: Path
):
    command = SandboxCommand(argv=("no-such-program",), workspace=Workspace(path=workspace))
    result = await sandbox.run(command)
    assert (result.end, result.code) == ("exited", 127)


async def test_output_is_interleaved_as_it_came(bash: Run):
    result = await bash("echo 1; echo 2 >&2; echo 3")
    assert result.output == b"1\n2\n3\n"
    assert result.output_bytes == 6


async def test_output_is_bounded_and_counted(bash: Run):
    result = await bash("head -c 3000000 /dev/zero", output_bytes=1000)
    assert (result.end, len(result.output), result.output_bytes) == ("exited", 1000, 3_000_000)


async def test_g36_both_ends_of_a_long_output_are_kept(bash: Run):
    result = await bash("seq 1 300000", output_bytes=1000)
    assert result.output.startswith(b"1\n2\n3\n")
    assert result.output.endswith(b"\n299999\n300000\n")
    assert result.cut_at == 500
    size = sum(len(f"{number}\n") for number in range(1, 300_001))
    assert result.output_bytes == size
    head, gap, tail = result.marked_output().partition(b"\n[\xe2\x80\xa6 ")
    missing = size - len(head) - 1 - len(tail.partition(b"\n")[2])
    assert (gap, tail.partition(b"\n")[0].decode()) == (
        b"\n[\xe2\x80\xa6 ",
        f"{missing} of {size} bytes are left out here …]",
    )


async def test_stdin_is_empty_unless_given(bash: Run):
    assert (await bash("cat; echo end")).output == b"end\n"


async def test_stdin_is_given_whole(bash: Run):
    content = os.urandom(300_000)
    assert (await bash("cat", stdin=content)).output == content


async def test_the_command_starts_in_its_workspace(bash: Run, workspace: Path):
    (workspace / "here").write_text("yes")
    await bash("cat here > there")
    assert (workspace / "there").read_text() == "yes"


@pytest.mark.parametrize("search", ["rg -n needle", "rg -n needle .", "rg --files-with-matches ee"])
async def test_ripgrep_searches_the_workspace_with_and_without_a_path(
    bash: Run, workspace: Path, search: str
):
    """Field report R32."""
    (workspace / "a.txt").write_text("hay\nneedle\n")
    result = await bash(search)
    assert result.code == 0
    assert b"a.txt" in result.output


async def test_what_a_session_starts_is_marked_as_such(sandbox: Sandbox, workspace: Path):
    command = SandboxCommand(
        argv=("printenv", INSIDE), workspace=Workspace(path=workspace), env=((INSIDE, ""),)
    )
    assert (await sandbox.run(command)).output == b"1\n"


async def test_nothing_of_the_environment_is_inherited(bash: Run, monkeypatch: pytest.MonkeyPatch):
    """Field report R59."""
    monkeypatch.setenv("X_API_KEY", "canary-1")
    result = await bash("env; cat /proc/$PPID/environ /proc/self/environ; true")
    assert b"canary-1" not in result.output
    assert b"PAGER=cat" in result.output


async def test_given_variables_are_added(sandbox: Sandbox, workspace: Path):
    command = SandboxCommand(
        argv=("printenv", "ONE", "TZ"),
        workspace=Workspace(path=workspace),
        env=(("ONE", "1"), ("TZ", "Asia/Tokyo")),
    )
    assert (await sandbox.run(command)).output == b"1\nAsia/Tokyo\n"


STAYS = "sh -c ': >here; read x <never'"
"""Opens a pipe that no one else opens, so it neither ends nor becomes another program."""


@pytest.mark.parametrize(
    "left", [f"({STAYS} &)", f"{STAYS} &", f"nohup setsid {STAYS} >out 2>&1 &"]
)
async def test_what_a_command_leaves_is_ended_and_counted(bash: Run, workspace: Path, left: str):
    """Field report R11."""
    script = f"mkfifo never; {left}\n{shell_until('here')}; echo up"
    result = await bash(script)
    assert (result.end, result.output, result.survivors) == ("exited", b"up\n", 1)
    assert not processes_in(workspace)


UNREAPED = """
import os
child = os.fork() or os._exit(0)
os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
open("here", "w")
open("never")
"""
"""Stays, with a child that has ended and stays in the table of processes."""


async def test_what_has_ended_is_not_counted_as_left(bash: Run):
    script = f"mkfifo never; python3 -c '{UNREAPED}' & {shell_until('here')}"
    assert (await bash(script)).survivors == 1


async def test_a_time_out_asks_first_and_keeps_the_output(bash: Run):
    script = f"trap 'echo asked; exit 0' TERM; echo started; {FOREVER}"
    result = await timed_out(bash, script)
    assert result.code == signal.SIGTERM
    assert result.output.startswith(b"started\n")
    assert result.output.endswith(b"asked\n")


@pytest.mark.sampled(2)
async def test_a_time_out_kills_what_does_not_listen(bash: Run, workspace: Path):
    script = f"trap '' TERM; echo started; {FOREVER}"
    assert (await timed_out(bash, script)).code == signal.SIGKILL
    assert not processes_in(workspace)


async def timed_out(bash: Run, script: str) -> SandboxResult:
    """Let a time run out on a script that said `started`; a busy machine needs longer for that."""
    for seconds in (0.5, 2, 8, 32):
        result = await bash(script, timeout=timedelta(seconds=seconds))
        assert result.end == "timed_out"
        if b"started" in result.output:
            break
    return result


async def test_cancellation_leaves_nothing_behind(bash: Run, workspace: Path):
    leaves = f"mkfifo never; setsid {STAYS} & {shell_until('here')}"
    task = asyncio.ensure_future(bash(f"{leaves}; touch started; sleep 600"))
    await appears(workspace / "started")
    assert processes_in(workspace)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not processes_in(workspace)


async def test_a_start_may_be_cancelled_at_any_moment(bash: Run, workspace: Path, tmp_path: Path):
    path = tmp_path / "lock"
    for turns in (1, 2, 3, 5, 8):
        held = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
        fcntl.flock(held, fcntl.LOCK_EX)
        task = asyncio.ensure_future(bash("sleep 60; touch ran", held))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        os.close(held)
        assert may_lock(path)
    assert not (workspace / "ran").exists()


async def test_the_lock_is_held_while_the_command_runs_and_free_after(
    bash: Run, workspace: Path, tmp_path: Path
):
    """Field report R11."""
    path = tmp_path / "lock"
    held = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
    fcntl.flock(held, fcntl.LOCK_EX)
    task = asyncio.ensure_future(bash(f"touch started; {shell_until('go')}", held))
    await appears(workspace / "started")
    os.close(held)
    assert not may_lock(path)
    (workspace / "go").touch()
    assert (await task).code == 0
    assert may_lock(path)


async def test_memory_is_bounded(bash: Run):
    script = "python3 -c 'import time; x=bytearray(b\"1\"*3*10**8); time.sleep(600)'"
    result = await bash(script, memory_bytes=200 << 20)
    assert (result.end, result.code) == ("out_of_memory", signal.SIGKILL)


async def test_memory_over_several_processes_is_bounded(bash: Run):
    one = "python3 -c 'import time; x=bytearray(b\"1\"*6*10**7); time.sleep(600)'"
    script = f"for i in 1 2 3 4 5 6; do {one} & done; wait"
    result = await bash(script, memory_bytes=200 << 20)
    assert result.end == "out_of_memory"


async def test_the_workspace_may_not_grow_without_bound(bash: Run):
    script = "for i in $(seq 30); do head -c 4000000 /dev/zero > f$i; done; sleep 600"
    result = await bash(script, disk_bytes=40 << 20)
    assert result.end == "out_of_disk"


async def test_a_single_file_is_bounded(bash: Run, workspace: Path):
    result = await bash("head -c 5000000 /dev/zero > big; echo after", file_bytes=1 << 20)
    assert (workspace / "big").stat().st_size == 1 << 20
    assert result.output.endswith(b"after\n")


async def test_a_workspace_that_is_missing_is_no_start(sandbox: Sandbox, tmp_path: Path):
    command = SandboxCommand(argv=("true",), workspace=Workspace(path=tmp_path / "none"))
    with pytest.raises(SandboxUnavailableError):
        await sandbox.run(command)


async def test_many_at_once_do_not_disturb_each_other(sandbox: Sandbox, workspace: Path):
    async def one(number: int) -> bytes:
        argv = ("bash", "-c", f"echo {number}; sleep 0.05; echo {number}")
        result = await sandbox.run(SandboxCommand(argv=argv, workspace=Workspace(path=workspace)))
        return result.output

    outputs = await asyncio.gather(*(one(number) for number in range(8)))
    assert outputs == [f"{number}\n{number}\n".encode() for number in range(8)]


def processes_in(workspace: Path) -> list[str]:
    """Processes whose working directory is this workspace, from outside or inside a sandbox."""
    wanted = workspace.stat()
    found: list[str] = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            here = (process / "cwd").stat()
        except OSError:
            continue
        if (here.st_dev, here.st_ino) == (wanted.st_dev, wanted.st_ino):
            found.append(process.name)
    return found


async def appears(path: Path) -> None:
    await until(path.exists, f"{path.name!r} is there")


def may_lock(path: Path) -> bool:
    with path.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
