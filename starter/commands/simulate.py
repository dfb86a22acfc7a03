"""`simulate`: the providers' dialects over HTTP, spoken by a playbook."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from starter.errors import CommandError
from starter.exit_codes import ExitCode
from starter.terminal import execute, fail, write


def simulate(
    playbook: Annotated[Path, typer.Argument(help="The YAML file that it plays.")],
    port: Annotated[int, typer.Option(min=1, max=65_535, help="On 127.0.0.1.")] = 8765,
) -> None:
    """Serve the providers' HTTP interfaces from a playbook; no real model speaks."""
    if not playbook.is_file():
        fail(CommandError(f"playbook {str(playbook)!r} is no file"))
    execute(_simulate(playbook, port))


async def _simulate(playbook: Path, port: int) -> ExitCode:
    from activities.adapters.models import simulator
    from starter import views

    write(views.simulating(str(playbook), port))
    await asyncio.to_thread(simulator.serve, playbook, "127.0.0.1", port)
    return ExitCode.COMPLETE
