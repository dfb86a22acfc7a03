"""`doctor`: is everything there that a session needs, and how to fix what is not."""

import os
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from starter.console.exit_codes import ExitCode
from starter.console.terminal import command, write
from starter.input.session_options import JsonOption


@command
async def doctor(
    *,
    repo: Annotated[
        Path | None,
        typer.Option(
            help="Repository to check; its set-up and gates run once, in the sandbox. "
            "Default: check the repository here, and run nothing."
        ),
    ] = None,
    json: JsonOption = False,
) -> ExitCode:
    """Check machine and repository, and say how to fix problems."""
    from starter.console import json_output
    from starter.machine import machine_checks
    from starter.machine.own_settings import settings_as_they_are, with_own_providers
    from starter.machine.repository_checks import repository_checks, trial_checks

    settings = settings_as_they_are()
    results = await machine_checks.all_checks(with_own_providers(settings))
    place = repo or Path()
    results += await repository_checks(place, os.environ, settings)
    if repo is not None:
        results += await trial_checks(place, os.environ, settings)
    if json:
        json_output.write_object(checks=[asdict(each) for each in results])
    else:
        write(map(machine_checks.line, results))
    return ExitCode.FAILED if any(r.state == "missing" for r in results) else ExitCode.COMPLETE
