"""What becomes of a command that bubblewrap never reached."""

from datetime import timedelta
from pathlib import Path

import pytest

from activities.adapters.sandbox.bubblewrap import BubblewrapSandbox
from activities.ports.sandbox_port import (
    Limits,
    SandboxCommand,
    SandboxResult,
    SandboxUnavailableError,
    Workspace,
)

_NAMES_ITSELF = """\
info=$(tr '\\0' '\\n' <"/dev/fd/$2" | sed -n '/^--info-fd$/{n;p;}')
echo '{"child-pid": '$$' }' >"/dev/fd/$info"
"""
"""As bubblewrap names its process 1."""


async def run(tmp_path: Path, script: str, longest: timedelta) -> SandboxResult:
    """Run a command with a script in bubblewrap's place."""
    stand_in = tmp_path / "bwrap"
    stand_in.write_text(f"#!/bin/bash\n{script}\n")
    stand_in.chmod(0o755)
    command = SandboxCommand(
        argv=("true",), workspace=Workspace(path=tmp_path), limits=Limits(timeout=longest)
    )
    return await BubblewrapSandbox(program=str(stand_in)).run(command)


async def test_a_time_that_is_over_before_the_command_began_is_a_time_out(tmp_path: Path):
    result = await run(tmp_path, f"{_NAMES_ITSELF}exec sleep 600", timedelta(seconds=0.2))
    assert (result.end, result.output) == ("timed_out", b"")


async def test_what_cannot_be_arranged_is_no_result(tmp_path: Path):
    with pytest.raises(SandboxUnavailableError, match="setting up uid map"):
        await run(tmp_path, "echo 'setting up uid map: x' >&2; exit 1", timedelta(minutes=2))
