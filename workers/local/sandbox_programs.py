"""Which programs the sandbox of this machine has; runs nothing."""

import os
import shutil
import sys
from pathlib import Path
from typing import Final

from workflows.domain.environment import ProjectEnvironment

_SYSTEM: Final = ("/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin")
_PLAIN: Final = ProjectEnvironment()
_ALWAYS: Final = ("python", "python3")


def find_in_sandbox(program: str, environment: ProjectEnvironment = _PLAIN) -> Path | None:
    """Return where the sandbox has a program; None: nowhere.

    The sandbox shows the system's /usr and a bare Python, or a root folder, and the toolchains
    that a person names. It shows nothing else of a home folder, so a program that works in a
    person's shell may be missing.

    Args:
        program: the first word of a command; one with a slash belongs to the repository.
        environment: as a session's configuration holds it.
    """
    toolchains = environment.toolchains
    tools = [str(Path(prefix, "bin")) for prefix in toolchains]
    if environment.root is not None:
        found = shutil.which(program, path=":".join(tools))
        there = (Path(f"{environment.root}{folder}", program) for folder in _SYSTEM)
        # A link in it stays within it; starting it shows whether it leads to a program.
        return Path(found) if found else next(filter(os.path.lexists, there), None)
    found = shutil.which(program, path=":".join([*tools, *_SYSTEM]))
    if found is None:
        return Path(sys.executable).resolve() if program in _ALWAYS else None
    shown = (Path("/usr"), *(Path(prefix).resolve() for prefix in toolchains))
    real = Path(found).resolve()
    return Path(found) if any(real.is_relative_to(prefix) for prefix in shown) else None
