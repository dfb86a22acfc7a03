"""The build id: which workflow code a process has.

Only role `workflows` is bound to builds. The other roles serve sessions of every build, because
what workflows ask of activities changes only by additions.
"""

import functools
import hashlib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from workers.settings import Settings

_DIGITS: Final = 10


def build_of(settings: Settings) -> str:
    """Return the build that this process serves: that of its code, unless a setting names one."""
    return settings.build or build_id(Path(__file__).parents[2])


@functools.cache
def build_id(root: Path) -> str:
    """Return the id of the code in a directory, for example `0.1.0-3f2a91c07e`.

    It is the release and a hash of all modules of `workflows`, so two checkouts of one release
    differ if their workflow code does.

    Args:
        root: the directory with the package `workflows`.

    Raises:
        OSError: a module cannot be read.
    """
    found = hashlib.sha256()
    for path in sorted((root / "workflows").rglob("*.py")):
        found.update(f"{path.relative_to(root).as_posix()}\0".encode())
        found.update(hashlib.sha256(path.read_bytes()).digest())
    return f"{release()}-{found.hexdigest()[:_DIGITS]}"


def release() -> str:
    """Return the installed release of Blue Flame; `source` if it is not installed."""
    try:
        return version("blueflame")
    except PackageNotFoundError:
        return "source"
