"""Entry of `blueflame` and `python -m starter`. The commands themselves are in `starter.cli`.

A repository that this program starts in may have packages with the same names (`workflows/`). So
this module imports no other module of Blue Flame before it is sure that the right one is found.
"""

import contextlib
import gc
import os
import sys
from pathlib import Path


def main() -> None:
    """Run the command line.

    Raises:
        SystemExit: always; `starter.console.exit_codes` lists the codes.
    """
    _open_streams()
    _become_safe()
    # What imports make stays: looking for garbage among it would cost a tenth of a short command.
    gc.disable()  # until `starter.console.terminal` sees that the command takes longer
    try:
        from activities.child_watcher import watch_by_pidfd
        from starter.cli import app
        from starter.console.terminal import make_streams_forgiving

        make_streams_forgiving()
        watch_by_pidfd()
        app()
    except KeyboardInterrupt:
        # From a person who was faster than the imports.
        sys.stderr.write("interrupted: nothing was done\n")
        raise SystemExit(130) from None
    except SystemExit as end:
        _leave(end)


def _open_streams() -> None:
    """Reopen closed standard streams: the next file, a lock or a log would get their number."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            # The lowest free number is that of the closed stream.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # noqa: FBT003 (the only way)
            setattr(sys, name, os.fdopen(number, "w" if number else "r", closefd=False))


def _leave(end: SystemExit) -> None:
    """Exit with the chosen code, whatever threads the Temporal client still has.

    On Python 3.11 its native threads can abort an interpreter that is shutting down, which would
    turn any exit code into 134.
    """
    if "temporalio" not in sys.modules or not isinstance(end.code, int):
        raise end
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(end.code)


def _become_safe() -> None:
    """Start again if the current directory could hide Blue Flame's packages.

    The directory itself stays: paths that the person typed are relative to it.
    """
    ours = Path(__file__).resolve().parents[1]
    try:
        here = Path.cwd()
    except FileNotFoundError:
        sys.stderr.write("error: the current directory does not exist any more; `cd` to another\n")
        raise SystemExit(2) from None
    if here == ours or not any(Path(entry or os.curdir).resolve() == here for entry in sys.path):
        return
    arguments = [sys.executable, "-P", "-m", "starter", *sys.argv[1:]]
    environment = {**os.environ, "PYTHONPATH": str(ours)}
    os.execve(sys.executable, arguments, environment)  # noqa: S606 (no shell is what we want)


if __name__ == "__main__":
    main()
