"""The hardened command: what reaches git, and that nothing of it is left behind."""

import asyncio
import contextlib
import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from activities.adapters.git.git_command import Git, Scope, configuration
from activities.ports.git_errors import GitCommandError, GitTimedOutError, OutputTooLargeError
from tests.unit.activities.adapters.git.home import GIT
from tests.waiting import PATIENCE, ends, is_still_going


def stand_in(folder: Path, script: str) -> Git:
    """A program in git's place."""
    place = folder / "stand-in"
    place.write_text(f"#!/bin/sh\n{script}\n")
    place.chmod(0o755)
    return Git(place)


def pipes() -> set[str]:
    """The pipes that this process has open."""
    names: set[str] = set()
    for each in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):  # the listing's own
            names.add(os.readlink(f"/proc/self/fd/{each}"))
    return {name for name in names if name.startswith("pipe:")}


async def test_nothing_of_our_environment_reaches_git(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("X_API_KEY", "canary-1")
    done = await stand_in(tmp_path, "env").run(Scope(tmp_path, {"ADDED": "1"}), "status")
    variables = dict(line.split("=", 1) for line in done.stdout.decode().splitlines())
    assert "GIT_DIR" not in variables
    assert "canary-1" not in variables.values()
    assert variables["ADDED"] == "1"
    assert variables["GIT_CONFIG_GLOBAL"] == "/dev/null"
    assert variables["GIT_ALLOW_PROTOCOL"] == ""


async def test_what_git_says_and_how_it_ends(tmp_path: Path):
    git = stand_in(tmp_path, "cat; echo oops >&2; exit 3")
    done = await git.run(Scope(tmp_path), "x", stdin=b"a\0b\0", accept=(3,))
    assert (done.code, done.records(), done.stderr) == (3, [b"a", b"b"], "oops\n")
    with pytest.raises(GitCommandError, match="ended with 3: oops") as raised:
        await git.run(Scope(tmp_path), "x")
    assert raised.value.code == 3


async def test_unread_input_is_not_a_failure(tmp_path: Path):
    done = await stand_in(tmp_path, "exit 0").run(Scope(tmp_path), "x", stdin=b"x" * (4 << 20))
    assert done.code == 0


async def test_large_input_and_output_pass_at_once(tmp_path: Path):
    data = os.urandom(8 << 20)
    done = await stand_in(tmp_path, "exec cat").run(Scope(tmp_path), "x", stdin=data)
    assert done.stdout == data


async def test_output_is_bounded(tmp_path: Path):
    scope = Scope(tmp_path, limit_bytes=1 << 20)
    with pytest.raises(OutputTooLargeError, match="1048576"):
        await stand_in(tmp_path, "exec cat /dev/zero").run(scope, "x")


async def test_much_on_stderr_does_not_block(tmp_path: Path):
    script = "head -c 300000 /dev/zero | tr '\\0' e >&2; exit 0"
    done = await stand_in(tmp_path, script).run(Scope(tmp_path), "x")
    assert len(done.stderr) == 64 << 10


DEAF = "trap '' TERM"
SCRIPTS = {
    "obedient": "sh inner",
    "deaf": f"{DEAF}; sh inner",
    "deaf child": f"(\n{DEAF}\nsh inner\n) & wait",
}


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
async def test_cancelling_ends_the_whole_group(
    tmp_path: Path, script: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("activities.adapters.git.git_command.GRACE_SECONDS", 0.05)
    os.mkfifo(tmp_path / "started")
    (tmp_path / "inner").write_text("sleep 600 & echo $! > started; wait; wait")
    running = asyncio.create_task(stand_in(tmp_path, script).run(Scope(tmp_path), "x"))
    child = int(await asyncio.to_thread((tmp_path / "started").read_text))
    watched = os.pidfd_open(child)
    dead = asyncio.Event()
    asyncio.get_running_loop().add_reader(watched, dead.set)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await ends(dead.wait(), "the child of git dies")
    asyncio.get_running_loop().remove_reader(watched)
    os.close(watched)


async def test_cancelling_waits_for_processes_that_hold_the_pipes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Else asyncio closes them never, and complains of it wherever that is noticed."""
    monkeypatch.setattr("activities.adapters.git.git_command.GRACE_SECONDS", 0.05)
    monkeypatch.setattr("activities.process_end.DEATH_SECONDS", PATIENCE)
    for name in ("started", "go"):
        os.mkfifo(tmp_path / name)
    script = "setsid sh -c 'echo up >started; read x <go' & wait"
    running = asyncio.create_task(stand_in(tmp_path, script).run(Scope(tmp_path), "x"))
    await asyncio.to_thread((tmp_path / "started").read_text)
    running.cancel()
    assert await is_still_going(running)
    await asyncio.to_thread((tmp_path / "go").write_text, "on\n")
    with pytest.raises(asyncio.CancelledError):
        await running


async def test_what_writes_too_much_and_is_deaf_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("activities.adapters.git.git_command.GRACE_SECONDS", 0.05)
    scope = Scope(tmp_path, limit_bytes=1 << 20)
    with pytest.raises(OutputTooLargeError):
        await stand_in(tmp_path, f"{DEAF}; exec cat /dev/zero").run(scope, "x")


async def test_a_process_outside_the_group_that_holds_the_pipes_is_not_awaited_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("activities.adapters.git.git_command.GRACE_SECONDS", 0.05)
    monkeypatch.setattr("activities.process_end.DEATH_SECONDS", 0.05)
    for name in ("started", "go"):
        os.mkfifo(tmp_path / name)
    script = f"{DEAF}; setsid sh -c 'echo up >started; read x <go' & wait"
    before = pipes()
    running = asyncio.create_task(stand_in(tmp_path, script).run(Scope(tmp_path), "x"))
    await asyncio.to_thread((tmp_path / "started").read_text)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    # Our ends of them are closed all the same.
    assert pipes() <= before
    await asyncio.to_thread((tmp_path / "go").write_text, "on\n")


@pytest.mark.parametrize("steps", range(12))
async def test_cancelling_during_the_start_leaves_nothing(tmp_path: Path, steps: int):
    watched, held = os.pipe()
    git = stand_in(tmp_path, "sleep 600 & wait")
    running = asyncio.create_task(git.run(Scope(tmp_path, hold=(held,)), "x"))
    for _ in range(steps):
        await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    os.close(held)
    with os.fdopen(watched, "rb") as end:
        assert await asyncio.to_thread(end.read) == b""


async def test_a_command_that_never_ends_is_ended(tmp_path: Path):
    scope = Scope(tmp_path, limit_seconds=0.2)
    git = stand_in(tmp_path, "exec sleep 600")
    with pytest.raises(GitTimedOutError, match=r"git 'x' in '.*' was ended after 0\.2 s"):
        await git.run(scope, "x")


async def test_configuration_of_any_name(tmp_path: Path):
    git = Git(GIT)
    pairs = [("filter.a=b c.clean", "x=y"), ("branch.ü.mergeOptions", "")]
    scope = Scope(tmp_path).having(**configuration(pairs))
    for key, value in pairs:
        assert (await git.run(scope, "config", "--get", key)).line() == value


async def test_dies_with_a_signal_as_its_code(tmp_path: Path):
    git = stand_in(tmp_path, "kill -9 $$")
    with pytest.raises(GitCommandError) as raised:
        await git.run(replace(Scope(tmp_path)), "x")
    assert raised.value.code == -signal.SIGKILL
