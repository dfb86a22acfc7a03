"""`starter.console.terminal`: foreign text, endings of commands, and what is lazy."""

import asyncio
import gc
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from starter.console import terminal
from starter.console.command_errors import CommandError
from starter.console.exit_codes import ExitCode
from starter.console.terminal import execute, one_line, shown

ROOT = Path(__file__).parents[4]


@given(st.text())
def test_shown_text_cannot_act(text: str) -> None:
    """Field report R58."""
    assert not any((ord(c) < 32 and c not in "\n\t") or 127 <= ord(c) < 160 for c in shown(text))


@given(st.text(), st.integers(0, 50))
def test_one_line_is_one_line_of_that_width(text: str, width: int) -> None:
    line = one_line(text, max(width, 3))
    assert len(line) <= max(width, 3)
    assert len(line.splitlines()) <= 1


def test_plain_text_is_untouched() -> None:
    assert shown("Gr\u00fc\u00dfe \u2713 \U0001f600") == "Gr\u00fc\u00dfe \u2713 \U0001f600"


def test_a_command_that_takes_longer_collects_garbage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "_SHORT_SECONDS", 0)
    seen: list[bool] = []

    async def command() -> ExitCode:
        seen.append(gc.isenabled())
        asyncio.get_running_loop().call_later(0, done.set)
        await done.wait()
        seen.append(gc.isenabled())
        return ExitCode.COMPLETE

    done = asyncio.Event()
    gc.disable()
    try:
        with pytest.raises(SystemExit):
            execute(command())
    finally:
        gc.enable()
    assert seen == [False, True]


@pytest.mark.parametrize("code", list(ExitCode))
def test_a_command_leaves_with_its_code(code: ExitCode) -> None:
    async def command() -> ExitCode:
        return code

    with pytest.raises(SystemExit) as left:
        execute(command())
    assert left.value.code == int(code)


def test_an_error_is_one_message_and_no_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    async def command() -> ExitCode:
        raise CommandError("no such \u001b[2J thing\nlook there", ExitCode.STALE)

    with pytest.raises(SystemExit) as left:
        execute(command())
    assert left.value.code == ExitCode.STALE
    assert capsys.readouterr().err == "error: no such \\x1b[2J thing\nlook there\n"


def test_an_internal_error_is_a_document_too(capsys: pytest.CaptureFixture[str]) -> None:
    async def command() -> ExitCode:
        raise KeyError("lost")

    with pytest.raises(SystemExit) as left:
        execute(command(), json=True)
    assert left.value.code == ExitCode.FAILED
    said = capsys.readouterr()
    error = json.loads(said.out)["error"]
    assert (error["kind"], error["message"]) == ("failed", "an internal error: KeyError('lost')")
    assert "Traceback" in said.err


def test_a_cancelled_command_is_an_interruption() -> None:
    async def command() -> ExitCode:
        raise asyncio.CancelledError

    with pytest.raises(SystemExit) as left:
        execute(command())
    assert left.value.code == ExitCode.INTERRUPTED


def test_a_loop_that_closes_is_written_no_signals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a second Ctrl-C in that moment shows a bad file descriptor."""
    pipes: list[int] = []

    async def command() -> ExitCode:
        loop = asyncio.get_running_loop()
        close = loop.close

        def closing() -> None:
            pipes.append(signal.set_wakeup_fd(-1))
            close()

        monkeypatch.setattr(loop, "close", closing)
        return ExitCode.COMPLETE

    with pytest.raises(SystemExit):
        execute(command())
    assert pipes == [-1]


def test_help_loads_neither_temporal_nor_an_sdk_nor_pydantic() -> None:
    check = (
        "import sys; sys.argv = ['blueflame', '--help']\n"
        "from starter.__main__ import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'temporalio', 'anthropic', 'openai', 'google', 'git', 'pydantic', 'rich'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", check], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "Usage: blueflame" in run.stdout
    assert run.stderr == "[]\n"


@pytest.mark.sampled(2)
@pytest.mark.parametrize("arguments", [("status",), ("models", "--config", "FILE"), (), ("ls",)])
def test_no_sdk_of_a_provider_is_loaded(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """Neither with all modules of the command line nor by a command that knows models.

    A command that only looks loads nothing of workers either.
    """
    config = tmp_path / "blueflame.yaml"
    config.write_text(
        "version: 1\n"
        "models: {planner: [anthropic/a], developer: [openai/b], reviewer: [google/c]}\n"
    )
    typed = ["blueflame", *(str(config) if word == "FILE" else word for word in arguments)]
    every = (
        "import pkgutil, sys, starter\n"
        "names = [m.name for m in pkgutil.walk_packages(starter.__path__, 'starter.')]\n"
        "for name in names:\n"
        "    if not name.endswith('__main__'): __import__(name)\n"
    )
    one = (
        "import sys\n"
        "from starter.cli import app\n"
        f"sys.argv = {typed!r}\n"
        "try: app()\n"
        "except SystemExit: pass\n"
    )
    heavy = {"anthropic", "openai", "google.genai", "git"}
    if arguments in {("status",), ("ls",)}:
        heavy |= {"temporalio.worker", "workflows.contracts"}
    check = f"{one if arguments else every}print(sorted({heavy} & set(sys.modules)))\n"
    run = subprocess.run(
        [sys.executable, "-c", check],
        cwd=ROOT,
        env={**os.environ, "BLUEFLAME_DATA_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.splitlines()[-1] == "[]"


def test_every_code_is_documented() -> None:
    documented = (ROOT / "docs" / "cli.md").read_text()
    for code in ExitCode:
        assert f"| {int(code)} |" in documented
