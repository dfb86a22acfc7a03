"""The data directory: made with the rights that each role needs, and no more.

    <data>/            0700, belongs to the person
      version          the number of this format (`data_version`)
      server.json      the bundled server's address, next to temporal.db and the locks
      logs/            bounded logs
      orphans/         journals of running activities (roles other than host)
      store/           shared by all roles; belongs to the host's user if that is another user
      incoming/        packs that root makes for the host's user; empty between imports
      host/            the host role's data; `name` is the host's name, orphans/ its journals

A host worker started as root drops to `host_uid`, and reaches `store` and `host` through binds.
"""

import socket
import uuid
from pathlib import Path

from workers.atomic_file import replace_text
from workers.hosting.data_version import bring_forward
from workers.hosting.privileges import prepare_data_dir
from workers.settings import Settings


def prepare(settings: Settings) -> None:
    """Make the directories that do not exist yet.

    Raises:
        OSError: one of them cannot be made; the error names it.
        DataVersionError: the directory is of a newer release.
    """
    for path in (settings.data_dir, settings.logs_dir, settings.data_dir / "orphans"):
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    bring_forward(settings.data_dir)
    prepare_data_dir(settings.data_dir, settings.host_uid, settings.host_gid)


def packages_root() -> Path:
    """Return the directory of Blue Flame's packages, for the PYTHONPATH of its processes."""
    return Path(__file__).resolve().parents[2]


def database(settings: Settings) -> Path:
    """Return the path of the bundled server's database."""
    return settings.data_dir / "temporal.db"


def journal_dir(settings: Settings, *, on_host: bool) -> Path:
    """Return the journals' directory; the host's user cannot write outside its own directories."""
    return (settings.host_dir if on_host else settings.data_dir) / "orphans"


def host_name(settings: Settings) -> str:
    """Return this host's name, which stays the same while its disk does.

    Two hosts may share a machine's name (as containers do), so a random part is added once.
    """
    if settings.host_name is not None:
        return settings.host_name
    path = settings.host_dir / "name"
    if not settings.host_dir.is_dir():
        prepare(settings)  # a host that is started by itself may be the first here
    if not path.exists():
        base = "".join(c if c.isalnum() or c in "._-" else "-" for c in socket.gethostname())[:60]
        # Whole or not at all: on a full disk an empty name would remain.
        replace_text(path, f"{base}-{uuid.uuid4().hex[:8]}")
    return path.read_text(encoding="utf-8").strip()
