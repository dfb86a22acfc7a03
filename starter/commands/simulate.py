"""`simulate`: the providers' dialects over HTTP, spoken by a playbook."""

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
    from activities.adapters.models.simulator.server import serve
    from activities.documents import DocumentError
    from starter import views

    try:
        await serve(
            playbook,
            "127.0.0.1",
            port,
            lambda _url: write(views.simulating(str(playbook), port)),
        )
    except DocumentError as error:
        raise CommandError(str(error)) from None
    except OSError as error:
        raise CommandError(
            f"port {port} cannot be served ({error.strerror}); --port names another"
        ) from None
    return ExitCode.COMPLETE
