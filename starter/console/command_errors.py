"""What a command tells a person instead of a traceback.

CommandError    one message that names the thing and says what to do next, and its exit code
"""

import errno
import re
import sys
from typing import Final

from starter.console.exit_codes import ExitCode

_REMEDIES: Final = {
    errno.ENOSPC: "the disk is full: free some space",
    errno.EDQUOT: "your share of the disk is full: free some space",
    errno.EACCES: "give this account the right, or start as one that has it",
    errno.EROFS: "the disk is read-only: mount it for writing, or name another place",
    errno.EMFILE: "too many files are open: raise `ulimit -n`",
}
_SAID: Final = {
    ("workers.temporal.temporal_errors", "TemporalUnavailableError"): ExitCode.UNAVAILABLE,
    ("workers.hosting.data_version", "DataVersionError"): ExitCode.USAGE,
    ("workers.backups.backup_contents", "BackupError"): ExitCode.USAGE,
    ("workers.backups.backup_lock", "DataInUseError"): ExitCode.STALE,
    ("activities.ports.land.hosting_port", "HostingRefusedError"): ExitCode.USAGE,
    ("activities.ports.land.hosting_port", "HostingError"): ExitCode.UNAVAILABLE,
}
"""Errors whose text is a message for a person."""
_ELSE: Final = "`doctor` tells what is missing here"


class CommandError(Exception):
    """A command cannot do what was asked."""

    def __init__(self, message: str, code: ExitCode = ExitCode.USAGE) -> None:
        super().__init__(message)
        self.code = code


def explained(error: Exception) -> CommandError | None:
    """Return the message for an error that is not an internal one; None for an internal error.

    A type is checked only if its module is loaded.
    """
    if isinstance(error, CommandError):
        return error
    if _is_a(error, "temporalio.service", "RPCError"):
        return CommandError(f"Temporal: {error}; {_of_temporal(error)}", ExitCode.UNAVAILABLE)
    for (module, name), code in _SAID.items():
        if _is_a(error, module, name):
            return CommandError(str(error), code)
    if _is_a(error, "pydantic", "ValidationError"):
        return CommandError(_complaint(error))
    if isinstance(error, OSError):
        where = f": {error.filename!r}" if error.filename else ""
        text = f"{error.strerror or error}{where}; {_REMEDIES.get(error.errno or 0, _ELSE)}"
        return CommandError(text, ExitCode.FAILED)
    return None


def _of_temporal(error: Exception) -> str:
    if re.search(r"[Nn]amespace \S+ (is )?not found", str(error)):
        return (
            "TEMPORAL_NAMESPACE names another, and `temporal operator namespace create -n NAME` "
            "makes one"
        )
    return _full_disk() or "try again, or see `doctor`"


def _full_disk() -> str:
    """Return a message about a full disk if the failed server has its database on this disk.

    The server itself reports only that it could not save.
    """
    from starter.console.disk_space import Disk
    from workers.settings import HomelessError, Settings

    try:
        settings = Settings.read()
    except (ValueError, HomelessError):
        return ""  # an invalid variable is reported where it is used
    return "" if settings.has_external_server else "".join(Disk(settings.data_dir).news())


def _is_a(error: Exception, module: str, name: str) -> bool:
    kind = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and isinstance(error, kind)


def _complaint(error: Exception) -> str:
    from pydantic import ValidationError

    assert isinstance(error, ValidationError)
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"{where}: {first['msg']}" if where else first["msg"]
