"""What a backup holds, and its manifest.

    backup.json          the manifest, first
    temporal.db          the bundled server's histories, as of one moment
    version              the data directory's format
    store/, reports/, builds/, host/name, host/baselines/
    orphans/, host/orphans/   what ran then, so that it runs again at once
    host/repositories/   with the refs of that same moment

Not in it: worktrees and snapshots of set-up, which a host makes again, logs, locks, and keys.
"""

from datetime import datetime
from pathlib import PurePosixPath
from typing import Final, Literal

from pydantic import BaseModel

SCHEMA: Final = 1
MANIFEST: Final = "backup.json"
DATABASE: Final = "temporal.db"
REPOSITORIES: Final = PurePosixPath("host/repositories")
TREES: Final = (
    "orphans",
    "host/orphans",
    "host/baselines",
    "host/repositories",
    "store",
    "reports",
    "builds",
)
FILES: Final = ("version", "host/name")
_MOVING: Final = frozenset({"packed-refs", "HEAD"})


class BackupError(Exception):
    """A backup cannot be written or used; the message says why and what to do."""


class Manifest(BaseModel, frozen=True, extra="ignore"):
    """The first member of a backup."""

    schema_version: int = SCHEMA
    kind: Literal["blueflame backup"] = "blueflame backup"
    at: datetime
    """The moment that the histories are of."""
    build: str
    """Of the program that wrote it."""
    data_version: int
    """The format of the data directory in it."""
    key_ids: tuple[str, ...] = ()
    """The keys of the encrypting codec that its histories may need; the keys are not in it."""


def is_wanted(name: PurePosixPath) -> bool:
    """Tell whether a file below one of `TREES` belongs into a backup, by its name.

    Args:
        name: relative to the data directory.
    """
    parts = name.parts
    if parts[:2] != REPOSITORIES.parts:
        return not parts[-1].startswith(".")
    inside = parts[3:]
    is_worktree = inside[:1] == ("worktrees",)
    return not is_worktree and not parts[-1].startswith("tmp_") and parts[-1][-5:] != ".lock"


def is_ref(name: PurePosixPath) -> bool:
    """Tell whether a file says where a repository's refs are; those must be of the same moment."""
    inside = name.parts[3:]
    is_inside = name.parts[:2] == REPOSITORIES.parts and bool(inside)
    return is_inside and (inside[0] == "refs" or inside[0] in _MOVING)


def is_known(name: PurePosixPath) -> bool:
    """Tell whether a member of an archive is of a backup and stays inside of its directory."""
    if name.is_absolute() or ".." in name.parts or not name.parts:
        return False
    text = str(name)
    is_below = any(text == tree or text.startswith(f"{tree}/") for tree in TREES)
    return is_below or text in {*FILES, MANIFEST, DATABASE, "host"}
