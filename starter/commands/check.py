"""`doctor`: is everything there that a session needs, and how to mend what is not."""

from starter.exit_codes import ExitCode
from starter.terminal import execute, write


def doctor() -> None:
    """Check this machine: what is missing, and how to mend it."""
    execute(_doctor())


async def _doctor() -> ExitCode:
    from starter import checks
    from starter.engine import settings_as_they_are

    results = await checks.all_checks(settings_as_they_are())
    write(map(checks.line, results))
    return ExitCode.FAILED if any(r.state == "missing" for r in results) else ExitCode.COMPLETE
