"""Shell completion, as the scripts that `--show-completion` prints ask for it."""

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
AS_INSTALLED = "import sys; sys.argv[0] = 'blueflame'; from starter.__main__ import main; main()"


def asked(*arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **variables}
    return subprocess.run(
        [sys.executable, "-c", AS_INSTALLED, *arguments],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("blueflame app", ["approve"]),
        ("blueflame st", ["status", "stop", "steer"]),
        ("blueflame run --dec", ["--decisions"]),
        ("blueflame run --pacing ", ["wave", "flow"]),
        ("blueflame models te", ["test"]),
    ],
)
def test_bash_completes_commands_options_and_choices(typed: str, offered: list[str]) -> None:
    words = typed.split(" ")
    answer = asked(
        _BLUEFLAME_COMPLETE="complete_bash", COMP_WORDS=typed, COMP_CWORD=str(len(words) - 1)
    )
    assert sorted(answer.stdout.split()) == sorted(offered)


def test_the_completion_script_is_for_the_command_as_it_was_called() -> None:
    # It asks which shell is above it; without this one there may be none.
    shell = ["bash", "-c", '"$@"; exit $?', "bash"]
    words = [*shell, sys.executable, "-P", "-m", "starter", "--show-completion"]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "SHELL": "/bin/bash"}
    script = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert (script.returncode, "_BLUEFLAME_COMPLETE=complete_bash" in script.stdout) == (0, True)
    assert "-F _blueflame_completion blueflame" in script.stdout


def test_the_version_is_printed() -> None:
    said = asked("--version")
    assert (said.returncode, said.stdout.split()[0]) == (0, "blueflame")
    assert said.stdout.split()[1:] == [version("blueflame")]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_a_script_for_the_command(shell: str) -> None:
    script = asked(_BLUEFLAME_COMPLETE=f"source_{shell}")
    assert (script.returncode, "_BLUEFLAME_COMPLETE" in script.stdout) == (0, True)
    assert f"complete_{shell}" in script.stdout
