"""`demo`: the main job, offline, on a sample repository, with a scripted model."""

from starter.errors import CommandError
from starter.exit_codes import ExitCode
from starter.terminal import execute


def demo() -> None:
    """Run the whole job on a sample repository, offline, with a scripted model."""
    execute(_demo())


async def _demo() -> ExitCode:
    raise CommandError("the demo is not part of this version yet", ExitCode.FAILED)
