"""Commands within a session: looking is allowed, whatever starts, steers or pays is refused."""

from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from activities.ports.sandbox_port import INSIDE
from starter.cli import app
from starter.console.exit_codes import ExitCode

ACTING = (
    ("run", "x"),
    ("run", "x", "--dry-run"),
    ("up",),
    ("demo",),
    ("approve",),
    ("reject", "plan"),
    ("skip", "t"),
    ("retry", "t"),
    ("rewind", "t", "1"),
    ("revert", "t"),
    ("steer", "t", "x"),
    ("answer", "s", "t", "x"),
    ("priority", "t", "1"),
    ("budget", "5"),
    ("rework",),
    ("proceed",),
    ("pause",),
    ("resume",),
    ("stop",),
    ("plan", "--file", "x"),
    ("plan", "--edit"),
    ("models", "test"),
    ("notify", "--test"),
    ("replay", "--adopt"),
    ("schedule", "add", "x", "y", "--cron", "@daily"),
    ("schedule", "trigger", "x"),
    ("schedule", "pause", "x"),
    ("schedule", "resume", "x"),
    ("schedule", "remove", "x"),
    ("queue", "remove", "x"),
    ("requeue", "x"),
    ("cleanup",),
    ("backup", "x"),
    ("restore", "x"),
    ("fast-forward",),
)
APART = {"codec", "config", "doctor", "init", "simulate"}
"""They concern no session: they look at this machine, write a person's file, or serve."""
LOOKING = (
    ("ls",),
    ("health",),
    ("status",),
    ("plan",),
    ("log",),
    ("trace",),
    ("history",),
    ("report",),
    ("export",),
    ("replay",),
    ("task", "t"),
    ("diff",),
    ("watch",),
    ("schedule", "list"),
    ("queue", "list"),
)


def code_of(tmp_path: Path, arguments: tuple[str, ...]) -> tuple[int, str]:
    variables = {INSIDE: "1", "BLUEFLAME_DATA_DIR": str(tmp_path), "TEMPORAL_ADDRESS": ""}
    ran = CliRunner().invoke(app, arguments, env=variables)
    return ran.exit_code, ran.stderr


@pytest.mark.parametrize("arguments", ACTING, ids=" ".join)
def test_commands_that_act_are_refused_inside_a_session(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    code, said = code_of(tmp_path, arguments)
    assert code == ExitCode.INSIDE
    assert said.startswith(f"error: `{arguments[0]}")
    assert "starts and steers no session" in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", LOOKING, ids=" ".join)
def test_commands_that_read_work_inside_a_session(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    # There is no server here, which is all that stands in the way.
    assert code_of(tmp_path, arguments)[0] == ExitCode.UNAVAILABLE


def test_each_command_is_in_one_of_the_tables() -> None:
    named = {arguments[0] for arguments in (*ACTING, *LOOKING)} | APART
    group: Any = get_command(app)
    assert named == set(group.commands)
