"""Exit codes of `blueflame`, which scripts may rely on (docs/cli.md lists them for people)."""

from enum import IntEnum
from typing import Final


class ExitCode(IntEnum):
    """How a command ended."""

    COMPLETE = 0
    """Done; for `run` and `watch`: every task is merged, or was skipped by a person."""
    FAILED = 1
    """The session ended incomplete or failed, or the command had an internal error."""
    USAGE = 2
    """Wrong arguments, configuration, repository or machine (also an editor that is missing or
    fails), or an unknown id."""
    WAITING = 3
    """The session waits for a person, and there is no terminal to ask at."""
    STOPPED = 4
    """The session was stopped, by a person or at its money cap."""
    UNAVAILABLE = 5
    """Temporal, or a worker, cannot be reached."""
    STALE = 6
    """The subject of a decision has changed, is settled, or does not wait, and nothing was sent; or
    the session refused at once; or there is nothing to show yet."""
    INSIDE = 7
    """A command of a session started this one, which would start or control a session."""
    INTERRUPTED = 130
    """Ctrl-C: the command detached and the session continues; or there was no session yet."""


OF_OUTCOME: Final = {
    "complete": ExitCode.COMPLETE,
    "incomplete": ExitCode.FAILED,
    "failed": ExitCode.FAILED,
    "stopped": ExitCode.STOPPED,
}
"""The code of `run` and `watch` for each outcome of a session."""
