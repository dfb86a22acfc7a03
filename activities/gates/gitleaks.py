"""gitleaks as a gate: its JSON report as lines that are safe to keep and to show. Pure.

The report holds what was found; `--redact` takes that out, and here only rule and place are taken
over, so that no secret gets into a gate's result even where gitleaks forgets it somewhere. Whether
the work may pass is for the gate's exit code and the baseline to say, as with every other gate.
"""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Final

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

PROGRAM: Final = "gitleaks"
COMMAND: Final = (
    *(PROGRAM, "dir", "--no-banner", "--log-level", "error", "--redact"),
    # An agent could excuse itself by a comment; what the base excuses is known from the baseline.
    "--ignore-gitleaks-allow",
    *("-f", "json", "-r", "-"),
)
_WHOLLY: Final = frozenset({"--redact", "--redact=100"})
_REPORT: Final = re.compile(r"^\[", re.MULTILINE)
_MOST_CHARS: Final = 300


class _Leak(BaseModel, frozen=True, extra="ignore"):
    rule: str = Field(alias="RuleID")
    path: str = Field(alias="File")
    line: int = Field(alias="StartLine")
    column: int = Field(alias="StartColumn")
    description: str = Field(default="", alias="Description")


_Leaks = TypeAdapter(tuple[_Leak, ...])


def is_gitleaks(argv: Sequence[str]) -> bool:
    """Tell whether a command is gitleaks itself, and not a shell or a hook that may start it."""
    return PurePosixPath(argv[0]).name == PROGRAM


def redaction_fault(argv: Sequence[str]) -> str | None:
    """Say that a command would show what it finds; None where it does not."""
    if not is_gitleaks(argv) or _WHOLLY & set(argv):
        return None
    return f"{PROGRAM} would show agents and reviewers the secrets that it finds: add --redact"


def in_lines(argv: Sequence[str], output: bytes) -> bytes:
    """Turn the report in a gate's output into lines `path:line:column: rule: description`.

    Args:
        argv: the gate's command.
        output: what it wrote; text beside the report stays as it is.

    Returns:
        The output as it was where the command is another one, or holds no report in JSON.
    """
    if not is_gitleaks(argv):
        return output
    text = output.decode("utf-8", "replace")
    for start in (match.start() for match in _REPORT.finditer(text)):
        try:
            value, end = json.JSONDecoder().raw_decode(text, start)
            lines = [*_lines(_Leaks.validate_python(value))]
        except (ValueError, ValidationError, RecursionError):
            continue
        return "\n".join((text[:start] + "\n".join(lines), text[end:].lstrip("\n"))).encode()
    return output


def _lines(leaks: tuple[_Leak, ...]) -> Iterator[str]:
    for leak in sorted(leaks, key=lambda each: (each.path, each.line, each.column, each.rule)):
        place = f"{_shown(leak.path)}:{leak.line}:{leak.column}"
        yield f"{place}: {_shown(leak.rule)}: {_shown(leak.description)}"


def _shown(text: str) -> str:
    """Return a text that stays on its line."""
    visible = (char if char.isprintable() else f"\\u{ord(char):04x}" for char in text)
    return "".join(visible)[:_MOST_CHARS]
