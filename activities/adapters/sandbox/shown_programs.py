"""Which installed programs a sandbox shows besides the system's own under /usr."""

import os
import sys
from pathlib import Path

_SYSTEM = Path("/usr")
_MOST_LINKS = 40


def default_toolchain() -> tuple[Path, ...]:
    """Return the prefixes of the interpreter that runs us, so that `python` works inside.

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
    found += [hop.parent.parent for hop in _hops(Path(executable))]
    found += [Path(os.path.realpath(one)) for one in found]
    kept = dict.fromkeys(path for path in found if not path.is_relative_to(_SYSTEM))
    return tuple(path for path in kept if path.is_dir() and path != Path("/"))


def _hops(path: Path) -> list[Path]:
    hops = [path]
    while hops[-1].is_symlink() and len(hops) < _MOST_LINKS:
        hops.append(hops[-1].parent / hops[-1].readlink())
    return [Path(os.path.normpath(hop)) for hop in hops]
