"""How a command ended, in words: code, signal, limit, pipe members, and processes left running."""

import re
import signal
from datetime import timedelta

from activities.ports.sandbox_port import Limits, SandboxResult

_BROKEN_PIPE = 128 + signal.SIGPIPE
_PIPE = re.compile(r"(?<![|>])\|(?!\|)")


def notes_on(
    ran: SandboxResult,
    limits: Limits,
    command: str,
    members: tuple[int, ...],
    longest: timedelta | None = None,
) -> list[str]:
    """Return the lines that follow a command's output.

    Args:
        ran: how it ended.
        limits: what it ran under.
        command: the command; only checked for a pipe.
        members: the exit codes of the last pipe's members; empty if unknown.
        longest: the most time that a call may ask for; None if it cannot ask.
    """
    notes = [f"[{ending(ran, limits, longest)}{_pipe(ran, command, members)}]"]
    if ran.cut_at is not None:
        kept = limits.output_bytes // 2
        notes.append(
            f"[of {ran.output_bytes} bytes of output the first and the last {kept} were kept]"
        )
    if ran.survivors:
        noun = "process" if ran.survivors == 1 else "processes"
        notes.append(f"[{ran.survivors} {noun} left, ended]")
    return notes


def has_failed(ran: SandboxResult, members: tuple[int, ...]) -> bool:
    """Say whether a command failed: it was ended, or a member of its pipe did not exit with 0.

    A member that wrote into a pipe whose reader had seen enough, as in `seq 9999 | head -1`, did
    not fail.
    """
    if ran.end != "exited" or ran.code != 0:
        return True
    return any(code not in {0, _BROKEN_PIPE} for code in members)


def ending(ran: SandboxResult, limits: Limits, longest: timedelta | None = None) -> str:
    """Say how a command ended, with advice if a limit ended it."""
    match ran.end:
        case "exited":
            return f"exit code {ran.code}"
        case "signalled":
            return f"ended by {_signal(ran.code)}"
        case "timed_out":
            return (
                f"did not finish: ended after {limits.timeout.total_seconds():g} s, its limit. "
                f"Run a smaller part{_or_ask(limits.timeout, longest)}. "
                "A command that waits for input never gets any"
            )
        case "out_of_memory":
            return f"did not finish: ended at more than {limits.memory_bytes >> 20} MiB of memory"
        case "out_of_disk":
            return f"did not finish: ended at more than {limits.disk_bytes >> 20} MiB of new files"


def _or_ask(limit: timedelta, longest: timedelta | None) -> str:
    if longest is None or longest <= limit:
        return ""
    return f", or give timeout_s (at most {longest.total_seconds():g})"


def _signal(number: int) -> str:
    try:
        return f"signal {number} ({signal.Signals(number).name})"
    except ValueError:
        return f"signal {number}"


def _pipe(ran: SandboxResult, command: str, members: tuple[int, ...]) -> str:
    if ran.end != "exited":
        return ""
    if len(members) > 1 and members[-1] == ran.code:
        return f"; pipe members: {', '.join(map(str, members))}"
    if ran.code == 0 and _PIPE.search(command) and "pipefail" not in command:
        return "; with a pipe 0 is only the last member's code"
    return ""
