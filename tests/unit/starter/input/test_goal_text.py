"""`starter.input.goal_text`: one goal from one of three places."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from starter.console.command_errors import CommandError
from starter.console.exit_codes import ExitCode
from starter.input.goal_text import read_goal


async def test_a_goal_is_typed_or_read_from_a_file(tmp_path: Path) -> None:
    page = tmp_path / "goal.md"
    page.write_bytes("\ufeffFix the pärser\n".encode())
    assert await read_goal("Fix it", None) == "Fix it"
    assert await read_goal(None, page) == "Fix the pärser\n"


ROOT = Path(__file__).parents[4]


@contextlib.contextmanager
def standard_input(monkeypatch: pytest.MonkeyPatch) -> Generator[BinaryIO]:
    """Put a pipe in the place of the standard input; yield its other end."""
    reading, writing = os.pipe()
    with open(reading) as read, open(writing, "wb") as written:
        monkeypatch.setattr(sys, "stdin", read)
        yield written


async def test_a_dash_is_the_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    with standard_input(monkeypatch) as written:
        written.write(b"from a pipe")
        written.close()
        assert await read_goal("-", None) == "from a pipe"


async def test_too_much_is_refused_before_all_of_it_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with standard_input(monkeypatch) as written:
        reading = asyncio.create_task(read_goal("-", None))
        await asyncio.to_thread(written.write, b"x" * 400_001)
        with pytest.raises(CommandError, match="shorten it"):
            await reading


async def test_a_closed_standard_input_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(CommandError, match="it is closed"):
        await read_goal("-", None)


@pytest.mark.slow
def test_ctrl_c_ends_the_reading(tmp_path: Path) -> None:
    command = [sys.executable, "-P", "-m", "starter", "run", "-", "--repo", str(tmp_path)]
    streams: Any = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, cwd=ROOT, **streams) as run:
        assert run.stdin is not None
        run.stdin.write(b"x" * 200_000)  # no pipe holds that much: it is being read
        run.stdin.flush()
        run.send_signal(signal.SIGINT)
        said = [each.read() for each in (run.stdout, run.stderr) if each is not None]
    assert run.returncode == ExitCode.INTERRUPTED
    assert said == [b"interrupted: no session was started\n", b""]


@pytest.mark.parametrize(
    ("goal", "content", "words"),
    [
        (None, None, "say what you want"),
        ("Fix it", b"Fix that", "say the goal once"),
        ("  \n", None, "the goal is empty"),
        (None, b"", "the goal is empty"),
        (None, b"\xff\xfe", "not UTF-8"),
        (None, b"x" * 400_001, "shorten it"),
    ],
)
async def test_refuses_an_invalid_goal(
    tmp_path: Path, goal: str | None, content: bytes | None, words: str
) -> None:
    page = None
    if content is not None:
        page = tmp_path / "goal.md"
        page.write_bytes(content)
    with pytest.raises(CommandError, match=words):
        await read_goal(goal, page)


async def test_refuses_a_pipe_or_a_folder_as_goal_file(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="is not a file"):
        await read_goal(None, tmp_path)
