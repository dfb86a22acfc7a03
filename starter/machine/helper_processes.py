"""Short helper processes for jobs that the command line must not do: a request in, a report out."""

import asyncio
import os
import sys
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel

from activities.process_end import end_child
from starter.console.command_errors import CommandError
from starter.console.exit_codes import ExitCode
from workers.hosting.data_layout import packages_root

if TYPE_CHECKING:
    from workers.settings import Settings

_Report = TypeVar("_Report", bound=BaseModel)


async def ask(
    module: str, settings: "Settings", request: BaseModel, report: type[_Report]
) -> _Report:
    """Run `python -m module`, which reads a request as JSON and writes a report.

    Raises:
        CommandError: it failed; the message is its last line.
    """
    environment = {**os.environ, **settings.as_environment()}
    environment["PYTHONPATH"] = str(packages_root())
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", module),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=environment,
        process_group=0,
    )
    try:
        out, errors = await process.communicate(request.model_dump_json().encode())
    finally:
        await end_child(process, has_group=True)
    if process.returncode != 0:
        last = errors.decode(errors="replace").strip().rpartition("\n")[2]
        raise CommandError(f"{module} failed: {last}", ExitCode.FAILED)
    return report.model_validate_json(out)
