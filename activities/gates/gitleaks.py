"""gitleaks as a gate: its JSON report as lines that are safe to keep and to show. Pure.

The report contains the secrets that were found, unless `--redact` removes them. Only rule and place
are used here, so no secret reaches a gate's result even if gitleaks misses one. As with every gate,
the exit code and the baseline decide whether the work passes.
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
    # Otherwise an agent could excuse a finding by a comment. The baseline has the base's findings.
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
    """Say whether a command is gitleaks itself, not a shell or a hook that may start it."""
    return PurePosixPath(argv[0]).name == PROGRAM


def redaction_fault(argv: Sequence[str]) -> str | None:
    """Return a warning if a command would show the secrets that it finds, else None."""
    if not is_gitleaks(argv) or _WHOLLY & set(argv):
        return None
    return f"{PROGRAM} would show agents and reviewers the secrets that it finds: add --redact"


def in_lines(argv: Sequence[str], output: bytes) -> bytes:
    """Turn the report in a gate's output into lines `path:line:column: rule: description`.

    Args:
        argv: the gate's command.
        output: what it wrote; text outside the report stays as it is.

    Returns:
        The output, unchanged if the command is not gitleaks or there is no report in JSON.
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
    """Return a text without line breaks."""
    visible = (char if char.isprintable() else f"\\u{ord(char):04x}" for char in text)
    return "".join(visible)[:_MOST_CHARS]
