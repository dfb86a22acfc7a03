"""Exit codes of `blueflame`: what a script may rely on (docs/cli.md lists them for people)."""

from enum import IntEnum
from typing import Final


class ExitCode(IntEnum):
    """How a command ended."""

    COMPLETE = 0
    """Done; of `run` and `watch`: every task is merged, or was skipped by a person."""
    FAILED = 1
    """The session ended incomplete or failed, or the command had an internal error."""
    USAGE = 2
    """Wrong arguments, configuration, repository or machine (an editor too that is missing or
    fails), or an id that does not exist."""
    WAITING = 3
    """The session waits for a person, and there is no terminal to ask at."""
    STOPPED = 4
    """The session was stopped, by a person or at its money cap."""
    UNAVAILABLE = 5
    """Temporal, or a worker, cannot be reached."""
    STALE = 6
    """What was to be decided has changed, is settled, or does not wait, and nothing was sent; the
    session answered at once that it will not; or what was to be shown is not there yet."""
    INSIDE = 7
    """A command of a session started this one, which would start or steer a session."""
    INTERRUPTED = 130
    """Ctrl-C: the command detached, the session did not end; or there was none yet."""


OF_OUTCOME: Final = {
    "complete": ExitCode.COMPLETE,
    "incomplete": ExitCode.FAILED,
    "failed": ExitCode.FAILED,
    "stopped": ExitCode.STOPPED,
}
"""The code of `run` and `watch` for each outcome of a session."""
