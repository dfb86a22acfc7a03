"""Prevents sessions within a session: a session's own command may look, but not act.

It checks a mark that is set on every command of an agent, gate and set-up. That stops accidents and
commands that are not hostile; confined commands cannot reach Temporal in any case.
"""

import functools
import os
from collections.abc import Callable

from starter.console.command_errors import CommandError
from starter.console.exit_codes import ExitCode
from starter.console.terminal import fail


def outside_only(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command, which refuses to run inside a session."""

    @functools.wraps(command)
    def guarded(*args: object, **kwargs: object) -> None:
        refuse_inside(command.__name__.replace("_", "-"))
        command(*args, **kwargs)

    return guarded


def refuse_inside(name: str) -> None:
    """Exit with code 7 inside a session; `name` is the command's.

    Raises:
        SystemExit: a session started this process.
    """
    # Late: it imports pydantic, which `--help` does not need.
    from activities.ports.sandbox_port import INSIDE

    if os.environ.get(INSIDE):
        fail(
            CommandError(
                f"`{name}` was started by a command of a session ({INSIDE} is set), and a session "
                "starts and steers no session; type it in a shell of your own",
                ExitCode.INSIDE,
            )
        )
