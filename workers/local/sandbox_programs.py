"""Which programs the sandbox of this machine has; nothing is run."""

import shutil
from pathlib import Path

from activities.adapters.sandbox.bwrap_arguments import environment
from activities.adapters.sandbox.shown_programs import default_toolchain


def find_in_sandbox(program: str) -> Path | None:
    """Return where the sandbox has a program; None: nowhere.

    The sandbox shows the system's /usr and the interpreter that runs this process, and nothing of a
    home folder, so a program that works in a person's shell may be absent there.

    Args:
        program: the first word of a command; one with a slash belongs to the repository.
    """
    shown = (Path("/usr"), *default_toolchain())
    found = shutil.which(program, path=environment(shown[1:], ())["PATH"])
    if found is None:
        return None
    real = Path(found).resolve()
    return Path(found) if any(real.is_relative_to(prefix) for prefix in shown) else None
