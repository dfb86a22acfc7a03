"""The terminal: where output goes, whether a person is there, and running a command.

Foreign text (titles, goals, reasons, model output) goes through `shown`, so that neither markup nor
control characters in it have any effect.
"""

import asyncio
import functools
import gc
import os
import signal
import sys
import traceback
from collections.abc import Callable, Coroutine, Iterable
from typing import TYPE_CHECKING, Final, NoReturn, ParamSpec

from starter.console.command_errors import CommandError, explained
from starter.console.exit_codes import ExitCode
from starter.console.program_name import as_typed
from workflows.policy.text.visible_text import ON_A_TERMINAL, escaped

if TYPE_CHECKING:
    from rich.console import Console


P = ParamSpec("P")

_SHORT_SECONDS: Final = 5.0


def shown(text: str) -> str:
    """Return `text` with every character that could act on a terminal written out."""
    return escaped(text, ON_A_TERMINAL)


def one_line(text: str, width: int) -> str:
    """Return `text` on one line of at most `width` characters, cut with three dots."""
    line = shown(" ".join(text.split()))
    return line if len(line) <= width else f"{line[: max(width - 3, 0)]}..."


def console(*, beside: bool = False) -> "Console":
    """Return the console for people; it reads no markup in text and follows NO_COLOR, TERM.

    Args:
        beside: on the error stream, because the output is data.
    """
    from rich.console import Console

    class Plain(Console):
        def on_broken_pipe(self) -> None:
            # Rich would end the process here, without ending the child processes.
            raise BrokenPipeError

    return Plain(markup=False, emoji=False, highlight=False, stderr=beside)


def write(
    lines: Iterable[str], style: Callable[[str], str] = lambda _line: "", *, beside: bool = False
) -> None:
    """Write lines for people.

    They are not folded: a terminal does that itself, and commands stay easy to copy.

    Args:
        lines: without line ends.
        style: returns a line's style, for terminals with colours.
        beside: to the error stream, because the output is data.
    """
    out = console(beside=beside)
    for line in lines:
        out.print(line, style=style(line), soft_wrap=True)


def is_interactive() -> bool:
    """Tell whether a person can be asked: input and output are both a terminal."""
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def can_fill_the_screen() -> bool:
    """Tell whether a full-screen view can be shown: all three streams are a terminal."""
    return is_interactive() and sys.stderr.isatty()


def make_streams_forgiving() -> None:
    """Write characters that an ASCII locale cannot show as escapes, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def command(body: Callable[P, Coroutine[None, None, ExitCode]]) -> Callable[P, NoReturn]:
    """Return a command that runs `body` to its end and exits with its code.

    With its option `json`, an error is also written as a document.
    """

    @functools.wraps(body)
    def run(*args: P.args, **kwargs: P.kwargs) -> NoReturn:
        execute(body(*args, **kwargs), json=kwargs.get("json") is True)

    return run


def execute(command: Coroutine[None, None, ExitCode], *, json: bool = False) -> NoReturn:
    """Run a command to its end and exit with its code.

    Args:
        command: the command to run.
        json: also write an error as a document.

    Raises:
        SystemExit: always.
    """
    raise SystemExit(int(_outcome(command, json=json)))


def fail(error: CommandError, *, json: bool = False) -> NoReturn:
    """Report an error that was found before a command began, and exit with its code.

    Raises:
        SystemExit: always.
    """
    _say(error, json=json)
    raise SystemExit(int(error.code))


def _say(error: CommandError, *, json: bool) -> None:
    message = as_typed(str(error))
    if json:
        # Late: only a document needs its model.
        from starter.console.json_output import write_error

        write_error(message, error.code)
    first, *rest = shown(message).split("\n")
    sys.stderr.write("\n".join([f"error: {first}", *rest]) + "\n")


def _outcome(command: Coroutine[None, None, ExitCode], *, json: bool) -> ExitCode:
    try:
        code = asyncio.run(_until_told(command))
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has closed the pipe; the interpreter must not complain at its end either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.COMPLETE
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except Exception as error:
        known = explained(error)
        if known is None and not json:
            raise
        if known is None:
            traceback.print_exc()
            known = CommandError(f"an internal error: {error!r}", ExitCode.FAILED)
        _say(known, json=json)
        return known.code
    return code


async def _until_told(command: Coroutine[None, None, ExitCode]) -> ExitCode:
    # A closed terminal or SIGTERM ends a command as Ctrl-C does: with its children.
    task = asyncio.current_task()
    assert task is not None
    loop = asyncio.get_running_loop()
    loop.call_later(_SHORT_SECONDS, gc.enable)  # a short command ends before it has much garbage
    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, task.cancel)
    try:
        return await command
    except asyncio.CancelledError:
        return ExitCode.INTERRUPTED
    finally:
        # The loop closes the pipe for signals before it forgets the pipe: another Ctrl-C in between
        # would be reported as a bad file descriptor.
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.remove_signal_handler(number)


async def read_line() -> str | None:
    """Return a line that the person types; None at the end of input.

    Waits on the loop and not in a thread, so that Ctrl-C is never stuck behind it.
    """
    loop = asyncio.get_running_loop()
    typed: asyncio.Future[None] = loop.create_future()
    loop.add_reader(sys.stdin.fileno(), lambda: typed.done() or typed.set_result(None))
    try:
        await typed
    finally:
        loop.remove_reader(sys.stdin.fileno())
    line = sys.stdin.readline()
    return line.strip() if line else None
