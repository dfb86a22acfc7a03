"""Which of Blue Flame's own programs a sandbox shows besides the system's under /usr.

Only the bare interpreter that runs Blue Flame, which the file tools need, and ripgrep. Never Blue
Flame's packages, because a project's imports must not find them.
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
    """The parts of Blue Flame's own programs to show."""

    interpreter: Path
    """The real program behind the interpreter that runs Blue Flame, outside any virtual
    environment."""
    prefixes: tuple[Path, ...]
    """The directories that it needs, shown read-only; none if it is the system's."""
    hidden: tuple[Path, ...]
    """Package folders within the shown directories, covered because they hold Blue Flame's
    packages."""
    search: Path | None
    """ripgrep; None if it is under /usr or not installed."""


@functools.cache
def own_programs() -> OwnPrograms:
    """Return the parts of this installation to show; searched once per process."""
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
    """Return all prefixes that a Blue Flame process needs to run, including packages.

    Returns:
        Absolute directories, the most specific first; without those under /usr, which is always
        there.
    """
    return interpreter_prefixes(sys.executable, sys.prefix, sys.base_prefix)


def interpreter_prefixes(executable: str, prefix: str, base_prefix: str) -> tuple[Path, ...]:
    """Return every prefix on the chain of links from `executable` to the real interpreter.

    A virtual environment links to an interpreter that may itself be a link (`cpython-3.11` to
    `cpython-3.11.9`); the chain works only if each directory on the way exists.
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
