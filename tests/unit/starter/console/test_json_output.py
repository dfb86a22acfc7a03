"""`--json`: every command that reads has it, and answers with one document whatever happens."""

import json
from pathlib import Path
from typing import Any

import pytest
import typer.main
from typer.testing import CliRunner

from starter.cli import app
from starter.console.exit_codes import ExitCode
from tests.e2e.processes import environment
from workers.settings import Settings

READING = {
    "doctor": (),
    "ls": (),
    "health": (),
    "status": (),
    "watch": (),
    "task": ("t1",),
    "diff": (),
    "log": (),
    "trace": (),
    "history": (),
    "report": (),
    "export": (),
    "replay": (),
    "plan": (),
    "models": (),
    "cleanup": ("--dry-run",),
    "notify": (),
    "schedule list": (),
    "queue list": (),
    "config show": (),
}
"""Each with arguments that are right."""
ACTING = {
    "answer", "approve", "backup", "budget", "codec", "config check", "config migrate",
    "config schema", "demo", "fast-forward", "init",
    "pause", "priority", "proceed", "queue remove", "reject", "requeue", "restore", "resume",
    "retry",
    "revert", "rewind", "rework", "run", "schedule add", "schedule pause", "schedule remove",
    "schedule resume", "schedule trigger", "simulate", "skip",
    "steer", "stop", "up",
}  # fmt: skip


def answered(tmp_path: Path, *arguments: str) -> tuple[int, Any]:
    settings = Settings(data_dir=tmp_path / "data")
    result = CliRunner().invoke(app, arguments, env=environment(settings))
    return result.exit_code, json.loads(result.stdout)


def grouped(command: Any) -> dict[str, Any]:
    """Return the commands of a group; none where it is none."""
    return getattr(command, "commands", {})


def test_a_command_reads_or_acts_and_each_that_reads_has_the_option() -> None:
    commands = {
        f"{name} {inner}".strip(): found
        for name, command in grouped(typer.main.get_command(app)).items()
        for inner, found in (grouped(command) or {"": command}).items()
    }
    assert READING.keys() | ACTING == commands.keys()
    without = [
        name for name in READING if not any("--json" in each.opts for each in commands[name].params)
    ]
    assert without == []


@pytest.mark.parametrize("command", READING)
def test_a_wrong_option_is_answered_by_a_document(tmp_path: Path, command: str) -> None:
    code, document = answered(tmp_path, *command.split(), "--json", "--no-such-thing")
    assert code == ExitCode.USAGE
    assert document["schema_version"] == 1
    assert document["error"]["code"] == ExitCode.USAGE
    assert document["error"]["kind"] == "usage"
    assert "--no-such-thing" in document["error"]["message"]


@pytest.mark.parametrize(
    "command", sorted(READING.keys() - {"config show", "doctor", "models", "notify"})
)
def test_without_a_server_the_document_says_so(tmp_path: Path, command: str) -> None:
    code, document = answered(tmp_path, *command.split(), *READING[command], "--json")
    assert code == ExitCode.UNAVAILABLE
    assert document["error"]["kind"] == "unavailable"
    assert "`blueflame up --detach` starts" in document["error"]["message"]


def test_a_setting_that_is_none_is_an_error_of_usage(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "data")
    variables = {**environment(settings), "BLUEFLAME_UI_PORT": "many"}
    result = CliRunner().invoke(app, ["ls", "--json"], env=variables)
    assert result.exit_code == ExitCode.USAGE
    assert "'many'" in json.loads(result.stdout)["error"]["message"]


def test_the_doctor_writes_its_checks(tmp_path: Path) -> None:
    code, document = answered(tmp_path, "doctor", "--json")
    states = {each["name"]: each["state"] for each in document["checks"]}
    assert states["python"] == "well"
    assert code == (ExitCode.FAILED if "missing" in states.values() else ExitCode.COMPLETE)
