"""Commands as a person writes them in the configuration, as argument lists.

Pure. A text without shell syntax is split into arguments; a text with shell syntax runs under bash
with `-e` and `pipefail`, so that no later step hides a step's failure. An argument list is taken
unchanged, except that a shell in it must not hide a failure behind a pipe. This module does not
judge whether a command is allowed.
"""

import re
import shlex
from collections.abc import Iterator

from activities.gates.gitleaks import redaction_fault
from workflows.policy.gates.pipe_faults import pipe_fault

BASH = ("bash", "-e", "-o", "pipefail", "-c")

_ASSIGNMENT = re.compile(r"\s*[A-Za-z_][A-Za-z0-9_]*\+?=")
_OPERATORS = frozenset("|&;<>()\n*?$`")
_IN_DOUBLE_QUOTES = frozenset("$`")
_AT_WORD_START = frozenset("~#")


def parse_command(text: str) -> tuple[str, ...]:
    """Turn a command line into an argument list.

    Args:
        text: `pytest -q`, or with shell syntax `npm ci && npm test`; several lines are a script.

    Raises:
        ValueError: it is empty, a quote is not closed, or it hides a failure behind a pipe.
    """
    if not text.strip() or "\0" in text:
        raise ValueError("a command is a text such as 'pytest -q'")
    if needs_shell(text.strip()):
        return (*BASH, text.strip())
    try:
        argv = tuple(shlex.split(text))
    except ValueError:
        raise ValueError(f"a quote in {text.strip()[:80]!r} is not closed") from None
    return check_arguments(argv)


def check_arguments(argv: tuple[str, ...]) -> tuple[str, ...]:
    """Return `argv` unchanged if it may be a gate's or a set-up's command.

    Raises:
        ValueError: it names no program, a shell in it hides a failure behind a pipe, or it would
            show secrets.
    """
    if not argv or not argv[0].strip() or any("\0" in word for word in argv):
        raise ValueError("a command starts with the program's name")
    fault = pipe_fault(argv)
    if fault is not None:
        raise ValueError(f"{fault}, or write the command as one text")
    if (shows := redaction_fault(argv)) is not None:
        raise ValueError(shows)
    return argv


def needs_shell(text: str) -> bool:
    """Say whether a text holds shell syntax outside quotes."""
    return _ASSIGNMENT.match(text) is not None or any(
        (char in _OPERATORS and not quote)
        or (char in _IN_DOUBLE_QUOTES and quote == '"')
        or (char in _AT_WORD_START and not quote and before.isspace())
        for char, before, quote in _scan(text)
    )


def _scan(text: str) -> Iterator[tuple[str, str, str]]:
    """Each character that is not escaped, with the one before it and its quote ('' outside)."""
    quote = ""
    before = " "
    characters = iter(text)
    for char in characters:
        if char == "\\" and quote != "'":
            before = next(characters, "")
            continue
        if char in {"'", '"'} and quote in {"", char}:
            quote = "" if quote else char
        else:
            yield char, before, quote
        before = char
