"""Detects gate commands whose exit code hides a failure.

Not a shell parser: it only finds pipes outside of quotes. It does not look into scripts and
makefiles.
"""

import re
from collections.abc import Sequence
from typing import Final

_SHELLS: Final = frozenset({"sh", "bash", "dash", "zsh", "ksh"})
_COMMAND_FLAG: Final = re.compile(r"-[a-zA-Z]*c[a-zA-Z]*")
_PIPEFAIL: Final = re.compile(r"(?:^|[\s;&(])set\s+(?:-\w+\s+)*-\w*o\s+pipefail\b")
_PIECE: Final = re.compile(r"""\\.|'[^']*'|"(?:\\.|[^"\\])*"|\|\||>\||(?P<pipe>\|)""", re.DOTALL)


def pipe_fault(argv: Sequence[str]) -> str | None:
    """Warn if a command's exit code is only that of the last command of a pipe.

    Args:
        argv: a gate's argument list.

    Returns:
        The warning in words; None if there is no unguarded pipe.
    """
    for place, argument in enumerate(argv):
        if argument.rsplit("/", 1)[-1] in _SHELLS:
            options, script = _shell_call(argv[place + 1 :])
            if "pipefail" not in options and _PIPEFAIL.search(script) is None and _pipes(script):
                return (
                    f"{script!r} holds a pipe, whose exit code is that of its last command:"
                    " a failure before it would count as passed;"
                    " use ['bash', '-o', 'pipefail', '-c', …]"
                )
    return None


def _shell_call(arguments: Sequence[str]) -> tuple[Sequence[str], str]:
    """Split a shell's arguments into its options and the script behind `-c`."""
    for place, argument in enumerate(arguments[:-1]):
        if _COMMAND_FLAG.fullmatch(argument):
            return arguments[:place], arguments[place + 1]
    return arguments, ""


def _pipes(script: str) -> bool:
    """Say whether there is a pipe outside of quotes, escapes and other operators."""
    return any(piece["pipe"] for piece in _PIECE.finditer(script))
