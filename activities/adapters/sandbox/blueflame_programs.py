"""Which of Blue Flame's own programs a sandbox shows besides the system's own under /usr.

Only the bare interpreter that runs us, which the file tools need, and ripgrep. Our own packages are
never among them: what a project imports is its own affair.
"""

import functools
import os
import shutil
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

_SYSTEM = Path("/usr")
_MOST_LINKS = 40


@dataclass(frozen=True)
class OwnPrograms:
    """What is shown of Blue Flame's own programs."""

    interpreter: Path
    """The real program behind the interpreter that runs us, outside any virtual environment."""
    prefixes: tuple[Path, ...]
    """The directories that it needs, shown read-only; none where it is the system's."""
    hidden: tuple[Path, ...]
    """Folders of packages within what is shown, covered because Blue Flame's packages are there."""
    search: Path | None
    """ripgrep; None where it lies under /usr or is not installed."""


@functools.cache
def own_programs() -> OwnPrograms:
    """Return what is shown of the installation that runs; looked for once in a process."""
    interpreter = Path(os.path.realpath(sys.executable))
    base = str(_prefix_of(interpreter))
    prefixes = interpreter_prefixes(str(interpreter), base, sys.base_prefix)
    packages = dict.fromkeys(Path(sysconfig.get_path(name)) for name in ("purelib", "platlib"))
    seen = (_SYSTEM, *prefixes)
    found = shutil.which("rg", path=str(Path(sys.prefix, "bin")))
    return OwnPrograms(
        interpreter=interpreter,
        prefixes=prefixes,
        hidden=tuple(path for path in packages if path.is_dir() and _is_in(path, seen)),
        search=None if found is None or _is_in(Path(found), seen) else Path(found),
    )


def worker_prefixes() -> tuple[Path, ...]:
    """Return all prefixes that a process of Blue Flame needs to run: packages included.

    Returns:
        Absolute directories, the most specific first; those under /usr are left out, for /usr is
        always there.
    """
    return interpreter_prefixes(sys.executable, sys.prefix, sys.base_prefix)


def interpreter_prefixes(executable: str, prefix: str, base_prefix: str) -> tuple[Path, ...]:
    """Return every prefix that a chain of links passes from `executable` to the real interpreter.

    A virtual environment links to an interpreter that may itself be a link (`cpython-3.11` to
    `cpython-3.11.9`); each directory on the way has to be there for the chain to hold.
    """
    found = [Path(prefix), Path(base_prefix)]
    found += [_prefix_of(hop) for hop in _hops(Path(executable))]
    found += [Path(os.path.realpath(one)) for one in found]
    kept = dict.fromkeys(path for path in found if not path.is_relative_to(_SYSTEM))
    return tuple(path for path in kept if path.is_dir() and path != Path("/"))


def _prefix_of(program: Path) -> Path:
    return program.parent.parent


def _is_in(path: Path, places: tuple[Path, ...]) -> bool:
    return any(path.is_relative_to(place) for place in places)


def _hops(path: Path) -> list[Path]:
    hops = [path]
    while hops[-1].is_symlink() and len(hops) < _MOST_LINKS:
        hops.append(hops[-1].parent / hops[-1].readlink())
    return [Path(os.path.normpath(hop)) for hop in hops]
