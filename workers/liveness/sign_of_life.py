"""A worker's sign of life: a small file that says when the worker was last well.

    <data>/<role>.alive        roles workflows, models and land
    <data>/host/host.alive     role host, whose user may write nowhere else

The worker writes it (`sign_keeping`) and removes it at its end. `health --worker` reads it. A data
directory has one file for each role: if two processes of a role share the directory, the file is
of the one that wrote last.
"""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Self

from pydantic import AwareDatetime, BaseModel, ValidationError

from workers.atomic_file import replace_text
from workers.liveness.process_presence import is_running
from workers.roles import Role
from workers.settings import Settings


class Sign(BaseModel, frozen=True, extra="ignore"):
    """The content of the file."""

    schema_version: int = 1
    pid: int
    well_at: AwareDatetime
    """When the worker was last well; at its start it counts as well."""
    trouble: str = ""
    """Why it has not been well since; empty if it was well when it looked last."""
    stale_after_s: int
    """The time since `well_at` after which the worker counts as hanging."""

    def after(self, trouble: str, now: datetime) -> Self:
        """Return the sign after one more look.

        Args:
            trouble: why the worker is not well; empty if it is.
            now: the time of the look, with its zone.
        """
        well_at = self.well_at if trouble else now
        return type(self)(
            pid=self.pid, well_at=well_at, trouble=trouble, stale_after_s=self.stale_after_s
        )


def sign_file(settings: Settings, role: Role) -> Path:
    """Return the path of a role's sign of life."""
    directory = settings.host_dir if role is Role.HOST else settings.data_dir
    return directory / f"{role}.alive"


def write_sign(path: Path, sign: Sign) -> None:
    """Replace a sign of life.

    Raises:
        OSError: the directory cannot be written.
    """
    replace_text(path, sign.model_dump_json())


def read_sign(path: Path) -> Sign | None:
    """Return a sign of life; None if there is none that can be read."""
    try:
        return Sign.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None


def why_not_well(sign: Sign | None, role: Role, now: datetime) -> str:
    """Return why a role's worker is not well; empty if it is.

    Args:
        sign: the worker's; None: there is none.
        role: the worker's.
        now: the time, with its zone.
    """
    if sign is None:
        return f"no worker of role {role.value!r} serves this data directory"
    if not is_running(sign.pid):
        return f"process {sign.pid}, a worker of role {role.value!r}, has ended"
    since = now - sign.well_at
    if since <= timedelta(seconds=sign.stale_after_s):
        return ""
    why = sign.trouble or "it no longer shows a sign of life: its event loop is blocked"
    return (
        f"process {sign.pid}, a worker of role {role.value!r}, was last well "
        f"{since.total_seconds():.0f} s ago: {why}"
    )
