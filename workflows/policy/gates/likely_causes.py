"""Suggests a fix for a gate that fails before any work, from the error lines of its output.

Only advice: it decides nothing. The first matching row counts:

| the run                                     | the suggestion                                    |
|---------------------------------------------|---------------------------------------------------|
| could not start                             | none: its reason already says what to do          |
| timed out                                   | a command that runs once, or a longer `timeout`   |
| ran out of memory, or of disk               | `environment.memory_mb`, `environment.disk_mb`    |
| says that a module is missing               | install it in `worktree.setup`                    |
| says that a program is missing              | its prefix in `environment.toolchains`            |
| says that it found no network               | fetch in `worktree.setup`, with `worktree.network`|
| says that a file system is read-only        | write below the worktree or to TMPDIR             |
| says anything else                          | none                                              |
"""

import re
from collections.abc import Callable
from typing import Final

from workflows.domain.gate import GateResult, WhyNothing

WATCHES: Final = (
    "a command that watches for changes never ends: give one that runs once, or raise the gate's "
    "`timeout`"
)
_CHARACTERS: Final = 160
_LINES: Final = 2
_CAUSE: Final = re.compile(
    r"(?:[Ee]rror|[Ee]xception)\b|not found|No such|[Cc]annot|[Mm]issing|[Uu]nable to|panicked|"
    r"[Rr]efused|unreachable|resolution|resolve"
)
_HEADING: Final = re.compile(
    r"[=\-_*!\s]*(?:[A-Z][A-Z\s]+)?[=\-_*!\s]*|During handling of the above exception.*"
)
_MARKS: Final = re.compile(r"\A(?:E\s+|>\s+|error:\s+(?=\S))")
_PYTHON_MODULE: Final = re.compile(r"No module named ['\"]?([\w.]+)")
_NODE_MODULE: Final = re.compile(
    r"Cannot find (?:module|package) ['\"]((?:@[\w.-]+/)?[\w-][\w.-]*)(?:/[^'\"]*)?['\"]"
)
_OTHER_MODULE: Final = re.compile(
    r"(?:can't find crate for [`'](\w+)|no required module provides package (\S+?)[;:]"
    r"|cannot load such file -- ([\w/-]+)|Class \"([\w\\]+)\" not found)"
)
_PROGRAM: Final = re.compile(
    r"(?:^|\s)(?:(?:line )?\d+: )?([\w.+-]+): (?:command )?not found\b"
    r"|No such file or directory: '([\w.+-]+)'"
    r"|\bspawn ([\w.+-]+) ENOENT"
    r"|make(?:\[\d+\])?: ([\w.+-]+): No such file or directory"
    r"|exec: \"([\w.+-]+)\": executable file not found",
    re.MULTILINE,
)
_NETWORK: Final = re.compile(
    r"name resolution|[Nn]ame or service not known|[Cc]ould not resolve|[Nn]etwork is unreachable"
    r"|getaddrinfo|ENOTFOUND|EAI_AGAIN|ENETUNREACH|dial tcp|No address associated"
)
_HOST: Final = re.compile(
    r"(?:https?://|host='|host: |ENOTFOUND |EAI_AGAIN |lookup )((?:[a-z0-9-]+\.)+[a-z]{2,24})\b"
)
_READ_ONLY: Final = re.compile(r"Read-only file system|EROFS")


def cause_of(result: GateResult) -> str:
    """Return the first lines that look like errors, else the last line; empty without output."""
    lines = [_MARKS.sub("", line.strip()) for line in result.excerpt.splitlines()]
    said = [line for line in lines if line and not _HEADING.fullmatch(line)]
    told = dict.fromkeys(line[:_CHARACTERS] for line in said if _CAUSE.search(line))
    return " / ".join(list(told)[:_LINES]) or (said[-1][:_CHARACTERS] if said else "")


def remedy_of(result: GateResult) -> str:
    """Suggest a fix, by the table above; empty if none is known."""
    if result.why == WhyNothing.TIMED_OUT:
        return WATCHES
    if result.why == WhyNothing.COULD_NOT_START:
        return ""
    if result.reason.startswith("out of memory"):
        return "raise `environment.memory_mb` in your own configuration"
    if result.reason.startswith("out of disk"):
        return "raise `environment.disk_mb` in your own configuration"
    return _by_output(result.excerpt)


def _by_output(text: str) -> str:
    for pattern, advice in _ADVICE:
        if pattern.search(text):
            return advice(_first(pattern, text), text)
    return ""


def _python_module(module: str, _: str) -> str:
    return (
        f"if {module.partition('.')[0]!r} is the project's own or a test requirement, install it "
        "before gates run: `worktree: {setup: [[python, -m, pip, install, …]]}`"
    )


def _node_module(module: str, _: str) -> str:
    return f"install {module!r} before gates run: `worktree: {{setup: [[npm, ci]]}}`"


def _other_module(module: str, _: str) -> str:
    return f"let a command of `worktree.setup` fetch {module!r} before gates run"


def _program(program: str, _: str) -> str:
    return (
        f"name the toolchain of {program!r} in your own configuration: "
        f"`environment: {{toolchains: [PREFIX]}}`, where PREFIX/bin/{program} is the program"
    )


def _network(_: str, text: str) -> str:
    host = _first(_HOST, text) or "HOST"
    return (
        "gates have no network: let set-up fetch what they need, "
        f"`worktree: {{setup: [[COMMAND]], network: [{host}]}}`"
    )


def _read_only(_: str, __: str) -> str:
    return "let the gate write below the worktree or to TMPDIR: all else is read-only"


_ADVICE: Final[tuple[tuple[re.Pattern[str], Callable[[str, str], str]], ...]] = (
    (_PYTHON_MODULE, _python_module),
    (_NODE_MODULE, _node_module),
    (_OTHER_MODULE, _other_module),
    (_PROGRAM, _program),
    (_NETWORK, _network),
    (_READ_ONLY, _read_only),
)


def _first(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    return "" if found is None else next((group for group in found.groups() if group), "")
