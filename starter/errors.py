"""What a command tells a person instead of a traceback.

CommandError    one message that names the thing and says what to do next, and its exit code
"""

from starter.exit_codes import ExitCode


class CommandError(Exception):
    """A command cannot do what it was asked for."""

    def __init__(self, message: str, code: ExitCode = ExitCode.USAGE) -> None:
        super().__init__(message)
        self.code = code
