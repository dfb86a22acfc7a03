"""`doctor`: is everything there that a session needs, and how to mend what is not."""

from dataclasses import asdict

from starter.commands.shared import JsonOption
from starter.exit_codes import ExitCode
from starter.terminal import execute, write


def doctor(*, json: JsonOption = False) -> None:
    """Check this machine: what is missing, and how to mend it."""
    execute(_doctor(json=json), json=json)


async def _doctor(*, json: bool) -> ExitCode:
    from starter import checks, documents
    from starter.engine import read_settings

    results = await checks.all_checks(read_settings())
    if json:
        documents.write_object(checks=[asdict(each) for each in results])
    else:
        write(map(checks.line, results))
    return ExitCode.FAILED if any(r.state == "missing" for r in results) else ExitCode.COMPLETE
