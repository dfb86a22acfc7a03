"""Commands of a person that run in the test's own process: no interpreter has to start for them."""

import subprocess

from typer.testing import CliRunner

from starter.cli import app
from tests.e2e.processes import environment
from workers.settings import Settings


def typed(settings: Settings, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run one command to its end, without a terminal."""
    done = CliRunner().invoke(app, arguments, env=environment(settings))
    assert isinstance(done.exception, SystemExit | None), done.exception
    return subprocess.CompletedProcess(arguments, done.exit_code, done.stdout, done.stderr)
