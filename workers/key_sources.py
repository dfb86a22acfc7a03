"""Where a key comes from: the environment, a file, or a command (`pass show …`, `sops -d …`).

For a key `NAME` the variables are `NAME`, `NAME_FILE` and `NAME_COMMAND`; the first that is set
counts. File and command are asked again after `activities.adapters.models.keys.FRESH_S`, so that a
rotated key needs no restart. A command runs without a shell, with this process's
environment, and its output is the key.
"""

import asyncio
import shlex
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

from pydantic import SecretStr

from activities.process_end import end_child

KeySource = SecretStr | Callable[[], Awaitable[SecretStr]]

_COMMAND_SECONDS = 30.0


class KeyUnreadableError(Exception):
    """A file or a command gave no key; the message does not repeat its output."""


def key_source(value: SecretStr | None, file: Path | None, command: str | None) -> KeySource | None:
    """Return where to read a key, or None if nothing names a source."""
    if value is not None:
        return value
    if file is not None:
        return partial(_from_file, file)
    if command is not None:
        return partial(_from_command, command)
    return None


async def _from_file(path: Path) -> SecretStr:
    return SecretStr(await asyncio.to_thread(path.read_text, encoding="utf-8"))


async def _from_command(command: str) -> SecretStr:
    process = await asyncio.create_subprocess_exec(
        *shlex.split(command),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        process_group=0,
    )
    try:
        async with asyncio.timeout(_COMMAND_SECONDS):
            output, _ = await process.communicate()
    finally:
        await end_child(process, has_group=True)
    if process.returncode != 0:
        raise KeyUnreadableError(f"the command ended with {process.returncode}")
    return SecretStr(output.decode("utf-8"))
