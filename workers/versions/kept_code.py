"""Copies of the code of each build, so that open sessions can end on it after an upgrade.

    <data>/builds/<build>/{workflows,activities,workers}

A copy is made when a supervisor starts, and runs with the dependencies that are installed then.
Dependencies are not kept: Temporal's SDK promises that it replays what older releases recorded.
"""

import logging
import re
import shutil
import tempfile
import time
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import Final

from workers.hosting import data_layout
from workers.settings import Settings
from workers.versions.build_id import build_of
from workflows.policy.text.log_events import log_event

_log = logging.getLogger(__name__)

_PACKAGES: Final = ("workflows", "activities", "workers")
"""All that a worker of role `workflows` imports."""
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_AGE: Final = timedelta(days=30)
_NEW: Final = ".new-"


def keep_code(settings: Settings) -> None:
    """Copy this process's code, unless a copy is there.

    A failure is only logged: sessions then wait after the next upgrade, and say so.
    """
    build = build_of(settings)
    place = builds_dir(settings) / build
    if place.is_dir() or not _NAME.fullmatch(build):
        return
    try:
        builds_dir(settings).mkdir(mode=0o700, exist_ok=True)
        _copy(data_layout.packages_root(), place)
    except OSError as error:
        log_event(_log, "build_not_kept", build=build, reason=error)


def _copy(root: Path, place: Path) -> None:
    # Whole or not at all: a kill or a full disk leaves no half copy under the build's name.
    new = Path(tempfile.mkdtemp(prefix=_NEW, dir=place.parent))
    try:
        for name in _PACKAGES:
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(root / name, new / name, ignore=ignored)
        new.rename(place)
    except OSError:
        shutil.rmtree(new, ignore_errors=True)
        if not place.is_dir():  # otherwise another supervisor was faster
            raise


def kept_builds(settings: Settings) -> frozenset[str]:
    """Return the builds whose code is kept."""
    try:
        names = [path.name for path in builds_dir(settings).iterdir()]
    except (FileNotFoundError, NotADirectoryError):
        return frozenset()
    return frozenset(name for name in names if _NAME.fullmatch(name))


def remove_code(settings: Settings, needed: Iterable[str], age: timedelta = _AGE) -> list[str]:
    """Remove old copies of builds that no open session needs; return the builds.

    Args:
        settings: this process's; the code of its own build stays.
        needed: builds whose code stays.
        age: younger copies stay, too: sessions on another server may need them.
    """
    until = time.time() - age.total_seconds()
    unneeded = sorted(kept_builds(settings) - {build_of(settings), *needed})
    gone = [name for name in unneeded if (builds_dir(settings) / name).stat().st_mtime < until]
    for build in gone:
        shutil.rmtree(builds_dir(settings) / build, ignore_errors=True)
    return gone


def builds_dir(settings: Settings) -> Path:
    """Return the directory of the kept code; only the person can write to it."""
    return settings.data_dir / "builds"
