"""Whether a program that a gate needs is there in the sandbox on this machine.

Only looks: the sandbox shows the system's /usr and the interpreter that runs us, and nothing of a
home folder, so a program that works in a person's shell may still be absent there.
"""

import shutil
from pathlib import Path
from typing import Final

from activities.adapters.sandbox.bwrap_arguments import environment
from activities.adapters.sandbox.shown_programs import worker_prefixes

_SOURCES: Final = {"gitleaks": "its releases are at https://github.com/gitleaks/gitleaks/releases"}


def absence(program: str) -> str:
    """Say that the sandbox does not have a program, and how to fix that."""
    source = f" ({_SOURCES[program]})" if program in _SOURCES else ""
    return f"absent from the sandbox, where gates run; install it under /usr{source}"


def in_sandbox(program: str) -> Path | None:
    """Return where the sandbox has a program; None: nowhere.

    Args:
        program: the first word of a command; one with a slash belongs to the repository.
    """
    shown = (Path("/usr"), *worker_prefixes())
    found = shutil.which(program, path=environment(shown[1:], ())["PATH"])
    if found is None:
        return None
    real = Path(found).resolve()
    return Path(found) if any(real.is_relative_to(prefix) for prefix in shown) else None
