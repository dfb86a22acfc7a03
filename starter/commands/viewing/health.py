"""`health`: are server, workers, disk and open sessions well, and if not, why."""

from typing import TYPE_CHECKING, Annotated

import typer

from starter.console.exit_codes import ExitCode
from starter.console.terminal import command, write
from starter.input.session_options import JsonOption
from workers.roles import Role

if TYPE_CHECKING:
    from workers.settings import Settings


@command
async def health(
    *,
    worker: Annotated[
        Role | None,
        typer.Option(
            help="Only check whether this machine's worker of this role is alive; needs no server.",
        ),
    ] = None,
    json: JsonOption = False,
) -> ExitCode:
    """Check server, workers, disk and open sessions; exit code 1 if something is not well."""
    from starter.machine.own_settings import read_settings

    settings = read_settings()
    is_well = (
        await _of_all(settings, json=json)
        if worker is None
        else _of_worker(settings, worker, json=json)
    )
    return ExitCode.COMPLETE if is_well else ExitCode.FAILED


def _of_worker(settings: "Settings", role: Role, *, json: bool) -> bool:
    from starter.console import json_output
    from starter.sessions.worker_health import WorkerLife
    from workers.liveness.sign_keeping import troubles

    problem = troubles(settings, [role])[role]
    found = WorkerLife(role=role, is_well=not problem, problem=problem)
    if json:
        json_output.write(found)
    else:
        write([found.problem or f"the worker of role {role.value!r} is well"])
    return found.is_well


async def _of_all(settings: "Settings", *, json: bool) -> bool:
    from starter.console import json_output
    from starter.console.disk_space import free_bytes
    from starter.machine.engine import connected
    from starter.sessions import fleet_health
    from starter.views import health_words
    from workers.liveness.sign_keeping import hanging
    from workers.telemetry.fleet import read_fleet

    client = await connected(settings)
    found = fleet_health.health(
        await read_fleet(client),
        client.service_client.config.target_host,
        free_bytes(settings.data_dir),
        hanging(settings),
    )
    if json:
        json_output.write(found)
    else:
        write(health_words.lines(found))
    return found.is_well
