"""`starter.console.program_name`: a command in a message works as it is typed."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from starter.console.program_name import as_typed

ROOT = Path(__file__).parents[4]
SCRIPT = f"#!{sys.executable} -P\nfrom starter.__main__ import main\nmain()\n"


def typed(here: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    path = f"{here / 'on path'}{os.pathsep}{os.environ['PATH']}"
    environment = {"PATH": path, "PYTHONPATH": str(ROOT), "BLUEFLAME_DATA_DIR": str(here / "data")}
    return subprocess.run(
        words, cwd=here, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("words", "told"),
    [
        # The folder could hide our packages, so it begins again with -P.
        ([sys.executable, "-m", "starter"], [sys.executable, "-P", "-m", "starter"]),
        pytest.param(
            [sys.executable, "-P", "-m", "starter"],
            [sys.executable, "-P", "-m", "starter"],
            marks=pytest.mark.slow,
        ),
        (["blueflame"], ["blueflame"]),
        (["on path/blueflame"], ["blueflame"]),
        (["not on it/blueflame"], ["not on it/blueflame"]),
    ],
)
@pytest.mark.slow
def test_the_command_that_a_message_names_can_be_typed(
    tmp_path: Path, words: list[str], told: list[str]
) -> None:
    for folder in ("on path", "not on it"):
        script = tmp_path / folder / "blueflame"
        script.parent.mkdir()
        script.write_text(SCRIPT)
        script.chmod(0o755)
    away = typed(tmp_path, *words, "ls")
    named = re.search(r"`(.+) up\b", away.stderr)
    assert named, away.stderr
    assert shlex.split(named[1]) == told
    assert typed(tmp_path, *told, "up", "--help").returncode == 0


def test_renames_only_blue_flames_commands() -> None:
    text = "`blueflame up`, 'blueflame.yaml', branch `blueflame/s1`, blueflame or 'blueflame' x"
    assert as_typed(text) == text
