"""`workers.key_sources`: a key from the environment, a file or a command."""

import asyncio
import os
import shlex
import sys
from pathlib import Path

import pytest
from pydantic import SecretStr

from tests.waiting import ends, until
from workers.key_sources import KeyUnreadableError, key_source
from workers.provider_wiring import provider_settings
from workers.settings import Settings


async def _asked(command: str) -> str:
    source = key_source(None, None, command)
    assert source is not None
    assert not isinstance(source, SecretStr)
    return (await source()).get_secret_value()


async def test_a_file_is_read_each_time(tmp_path: Path) -> None:
    path = tmp_path / "key"
    source = key_source(None, path, "false")
    assert source is not None
    assert not isinstance(source, SecretStr)
    for value in ("one", "two"):
        path.write_text(value)
        assert (await source()).get_secret_value() == value


async def test_a_commands_output_is_the_key(tmp_path: Path) -> None:
    assert await _asked(f"{sys.executable} -c 'print(\"a key\")'") == "a key\n"
    with pytest.raises(KeyUnreadableError, match="ended with 3"):
        await _asked(f"{sys.executable} -c 'print(\"a key\"); raise SystemExit(3)'")
    with pytest.raises(FileNotFoundError):
        await _asked(str(tmp_path / "nothing"))


def test_no_shell_reads_the_command() -> None:
    assert key_source(None, None, None) is None
    assert key_source(SecretStr("x"), Path("/y"), "z") == SecretStr("x")


async def test_the_variables_of_each_provider(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "key").write_text("from a file")
    monkeypatch.setenv("ANTHROPIC_API_KEY_FILE", str(tmp_path / "key"))
    monkeypatch.setenv("OPENAI_API_KEY_COMMAND", "echo from a command")
    monkeypatch.setenv("GEMINI_API_KEY", "from the environment")
    keys = provider_settings(Settings(data_dir=tmp_path)).keys
    values = {
        name: (source if isinstance(source, SecretStr) else await source()).get_secret_value()
        for name, source in keys.items()
    }
    assert values == {
        "anthropic": "from a file",
        "openai": "from a command\n",
        "google": "from the environment",
    }


async def test_a_command_is_not_left_when_no_one_waits_for_its_key(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    script = f"echo $$ > {pid}.new; mv {pid}.new {pid}; sleep 1000"
    asking = asyncio.create_task(_asked(f"sh -c {shlex.quote(script)}"))
    await until(pid.exists, "the command runs")
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await ends(asking, "the command ends")
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)
