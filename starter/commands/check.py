"""`doctor`: is everything there that a session needs, and how to mend what is not."""

import os
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from starter.commands.shared import JsonOption
from starter.exit_codes import ExitCode
from starter.terminal import execute, write


def doctor(
    *,
    repo: Annotated[
        Path, typer.Option(help="Whose configuration and gates are looked at.")
    ] = Path(),
    json: JsonOption = False,
) -> None:
    """Check this machine: what is missing, and how to mend it."""
    execute(_doctor(repo, json=json), json=json)


async def _doctor(repo: Path, *, json: bool) -> ExitCode:
    from starter import checks, documents
    from starter.engine import settings_as_they_are, with_own_providers
    from starter.repository_checks import repository_checks

    settings = settings_as_they_are()
    results = await checks.all_checks(with_own_providers(settings))
    results += await repository_checks(repo, os.environ, settings.providers)
    if json:
        documents.write_object(checks=[asdict(each) for each in results])
    else:
        write(map(checks.line, results))
    return ExitCode.FAILED if any(r.state == "missing" for r in results) else ExitCode.COMPLETE
