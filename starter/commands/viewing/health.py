"""`health`: are server, workers, disk and open sessions well, and if not, why."""

from starter.console.exit_codes import ExitCode
from starter.console.terminal import command, write
from starter.input.session_options import JsonOption


@command
async def health(*, json: JsonOption = False) -> ExitCode:
    """Check server, workers, disk and open sessions; exit code 1 if something is not well."""
    from starter.console import json_output
    from starter.console.disk_space import free_bytes
    from starter.machine.engine import connected
    from starter.machine.own_settings import read_settings
    from starter.sessions import fleet_health
    from starter.views import health_words
    from workers.telemetry.fleet import read_fleet

    settings = read_settings()
    client = await connected(settings)
    found = fleet_health.health(
        await read_fleet(client),
        client.service_client.config.target_host,
        free_bytes(settings.data_dir),
    )
    if json:
        json_output.write(found)
    else:
        write(health_words.lines(found))
    return ExitCode.COMPLETE if found.is_well else ExitCode.FAILED
