"""Checks the system programs that a session needs: whether they are installed, and new enough.

It asks only for names and versions. `starter.machine.machine_checks` and the host find out by trial
whether a sandbox can be made.
"""

import asyncio
import re
import shutil
from typing import Final

from activities.process_end import end_child
from starter.console.command_errors import CommandError

OLDEST_GIT: Final = (2, 39)


async def git_version() -> str:
    """Return git's version.

    Raises:
        CommandError: it is not installed, does not run, or is too old.
    """
    needed = "{}.{} or newer is needed".format(*OLDEST_GIT)
    code, output = await answer("git", "--version")
    if code is None:
        raise CommandError(f"the program `git` is not installed; `apt install git` ({needed})")
    found = re.search(r"version (\d+)\.(\d+)\S*", output)
    if code != 0 or found is None:
        said = output.strip()[:200] or f"exit code {code}"
        raise CommandError(f"the program `git` does not tell its version ({said}); {needed}")
    if (int(found[1]), int(found[2])) < OLDEST_GIT:
        raise CommandError(f"git is {found[0]}; {needed}: `apt install git`")
    return found[0].removeprefix("version ")


def require_sandbox() -> None:
    """Refuse if the sandbox's program is missing.

    Raises:
        CommandError: it is not installed.
    """
    if shutil.which("bwrap") is None:
        raise CommandError(
            "the sandbox needs bubblewrap, which is not installed; `apt install bubblewrap`. "
            "`sandbox: none` runs without, at your own risk"
        )


async def answer(*argv: str) -> tuple[int | None, str]:
    """Run a program and return its exit code and output; None as the code if it is missing."""
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            process_group=0,
        )
    except (FileNotFoundError, PermissionError):
        return None, ""
    try:
        output, _ = await process.communicate()
    finally:
        await end_child(process, has_group=True)
    return process.returncode, output.decode(errors="replace")
