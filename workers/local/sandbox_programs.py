"""Which programs the sandbox of this machine has; nothing is run."""

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

_SYSTEM: Final = ("/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin")
_ALWAYS: Final = ("python", "python3")


def find_in_sandbox(program: str, toolchains: Sequence[str] = ()) -> Path | None:
    """Return where the sandbox has a program; None: nowhere.

    The sandbox shows the system's /usr, a bare Python, and the toolchains that a person names;
    nothing else of a home folder, so a program that works in a person's shell may be absent.

    Args:
        program: the first word of a command; one with a slash belongs to the repository.
        toolchains: absolute names, as a session's configuration holds them.
    """
    tools = [str(Path(prefix, "bin")) for prefix in toolchains]
    found = shutil.which(program, path=":".join([*tools, *_SYSTEM]))
    if found is None:
        return Path(sys.executable).resolve() if program in _ALWAYS else None
    shown = (Path("/usr"), *(Path(prefix).resolve() for prefix in toolchains))
    real = Path(found).resolve()
    return Path(found) if any(real.is_relative_to(prefix) for prefix in shown) else None
