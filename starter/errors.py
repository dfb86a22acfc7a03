"""What a command tells a person instead of a traceback.

CommandError    one message that names the thing and says what to do next, and its exit code
"""

import sys

from starter.exit_codes import ExitCode


class CommandError(Exception):
    """A command cannot do what it was asked for."""

    def __init__(self, message: str, code: ExitCode = ExitCode.USAGE) -> None:
        super().__init__(message)
        self.code = code


def explained(error: Exception) -> CommandError | None:
    """Return what to say of an error that is not a fault of the program; None for one that is.

    Asked by type only where the module that defines it was loaded at all.
    """
    if isinstance(error, CommandError):
        return error
    if _is_a(error, "temporalio.service", "RPCError"):
        return CommandError(f"Temporal: {error}; try again, or see `doctor`", ExitCode.UNAVAILABLE)
    if _is_a(error, "workers.temporal", "TemporalUnavailableError"):
        return CommandError(str(error), ExitCode.UNAVAILABLE)
    if _is_a(error, "pydantic", "ValidationError"):
        return CommandError(_complaint(error))
    if isinstance(error, OSError):
        return CommandError(f"{error.strerror or error}: {error.filename or ''}", ExitCode.FAILED)
    return None


def _is_a(error: Exception, module: str, name: str) -> bool:
    kind = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and isinstance(error, kind)


def _complaint(error: Exception) -> str:
    from pydantic import ValidationError

    assert isinstance(error, ValidationError)
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"{where}: {first['msg']}" if where else first["msg"]
