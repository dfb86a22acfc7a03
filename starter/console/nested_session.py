"""No session within a session: what a session's own command started may look, but not act.

The mark that is looked for is set on every command of an agent, gate and set-up. It stops accidents
and what is not hostile; what is confined could not reach Temporal in any case.
"""

import functools
import os
from collections.abc import Callable

from starter.console.command_errors import CommandError
from starter.console.exit_codes import ExitCode
from starter.console.terminal import fail


def outside_only(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command, refused where a session started us."""

    @functools.wraps(command)
    def guarded(*args: object, **kwargs: object) -> None:
        refuse_inside(command.__name__.replace("_", "-"))
        command(*args, **kwargs)

    return guarded


def refuse_inside(name: str) -> None:
    """Leave with code 7 where a session started us; `name` is the command's.

    Raises:
        SystemExit: a session did.
    """
    # Late: it brings pydantic, which `--help` does without.
    from activities.ports.sandbox_port import INSIDE

    if os.environ.get(INSIDE):
        fail(
            CommandError(
                f"`{name}` was started by a command of a session ({INSIDE} is set), and a session "
                "starts and steers no session; type it in a shell of your own",
                ExitCode.INSIDE,
            )
        )
