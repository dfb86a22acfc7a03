"""Turns a gate's output into short text that is safe to show to people and models.

Pure. Colours and other terminal commands are removed, progress bars are shown as they ended, and
other control and direction-changing characters become visible escapes. So no output can change a
person's terminal or hide its text.
"""

import codecs
import re
import unicodedata
from collections.abc import Iterable

from workflows.policy.text.visible_text import IN_PROGRAM_OUTPUT, escaped

MAX_EXCERPT_CHARS = 6_000
MAX_LINES = 100_000
_MAX_LINE_CHARS = 600
_MAX_PLAIN_CHARS = 1_000
_TAIL_CHARS = 2_600
_MARKER_CHARS = 80

_TERMINAL = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x1b[\]PX^_][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)?"  # OSC, DCS and the like: titles, links
    r"|\x1b[ -/]*[0-~]"  # two-character sequences
)
_FAILURE = re.compile(
    r"^(?:=+ (?:FAILURES|ERRORS) =+$|(?:FAIL|ERROR|UNEXPECTED SUCCESS): |\s*--- FAIL: |failures:$"
    r"|---- .* stdout ----$|\s*not ok \d|\s*● |\s*FAIL\s|\s*✖ |error(?:\[\w+\])?: "
    r"|Traceback \(most recent call last\)|panic: |thread '.*' panicked at"
    r"|.*:\d+(?::\d+)?: (?:error|[A-Z]+\d+)\b)"
)


def plain_lines(text: str) -> list[str]:
    """Split into lines without terminal commands, overwritten parts and blanks at their ends.

    A line is cut at 1,000 characters: no person or parser reads longer ones, and later searches
    stay cheap.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    return [_plain(line[:_MAX_PLAIN_CHARS]) for line in lines]


def _plain(line: str) -> str:
    if "\x1b" in line:
        line = _TERMINAL.sub("", line)
    if "\r" in line:
        line = line.rstrip("\r").rpartition("\r")[2]
    return line.rstrip()


def bounded_lines(output: bytes) -> bytes:
    """Leave out the middle of an output with too many lines.

    As text, a line takes far more memory than its bytes: millions of lines would take hundreds of
    megabytes.

    Returns:
        At most `MAX_LINES` lines, and one that says how many are missing.
    """
    extra = output.count(b"\n") - MAX_LINES
    if extra <= 0:
        return output
    head = tail = -1
    for _ in range(MAX_LINES // 2):
        head = output.find(b"\n", head + 1)
    tail = len(output)
    for _ in range(MAX_LINES // 2 + 1):
        tail = output.rfind(b"\n", 0, tail)
    gap = f"[… {extra} lines are left out here …]\n".encode()
    return output[: head + 1] + gap + output[tail + 1 :]


def decode_output(output: bytes) -> str:
    """Decode UTF-8; invalid bytes become U+FFFD, an incomplete character at the end is dropped."""
    return codecs.getincrementaldecoder("utf-8")("replace").decode(output, final=False)


def excerpt(output: bytes, limit: int = MAX_EXCERPT_CHARS) -> str:
    """Cut an output to whole lines: the first failure and the end, or the start and the end.

    Args:
        output: the whole output.
        limit: the most characters to return, at least 1,000.
    """
    lines = plain_lines(decode_output(output).strip("\n"))
    whole = _fitting(lines, limit)
    return "\n".join(whole if len(whole) == len(lines) else _cut(lines, limit))


def _shorten(line: str) -> str:
    if len(line) <= _MAX_LINE_CHARS:
        return line
    end = _MAX_LINE_CHARS - 40
    while end > _MAX_LINE_CHARS - 100 and _continues(line[end]):
        end -= 1
    return f"{line[:end]} …"


def _continues(char: str) -> bool:
    """Say whether a code point belongs to the one before it (an accent, a joiner, a variant)."""
    return unicodedata.category(char) in {"Mn", "Mc", "Me", "Cf"}


def _shown(line: str) -> str:
    """Return a line that is safe to show; cut before and after, because escapes make it longer."""
    return _shorten(escaped(_shorten(line.rstrip()), IN_PROGRAM_OUTPUT))


def _cut(lines: list[str], limit: int) -> list[str]:
    tail = _fitting(reversed(lines), _TAIL_CHARS * limit // MAX_EXCERPT_CHARS)[::-1]
    end = len(lines) - len(tail)
    start = _first_failure(lines[:end])
    room = limit - _MARKER_CHARS - sum(len(line) + 1 for line in tail)
    body = _fitting(lines[start:end], room)
    return [*_left_out(start), *body, *_left_out(end - start - len(body)), *tail]


def _fitting(lines: Iterable[str], budget: int) -> list[str]:
    """Return as many safe lines from the start as fit into `budget` characters."""
    taken: list[str] = []
    for line in map(_shown, lines):
        budget -= len(line) + 1
        if budget < -1:
            break
        taken.append(line)
    return taken


def _first_failure(lines: list[str]) -> int:
    for number, line in enumerate(lines):
        if _FAILURE.match(line):
            return number
    return 0


def _left_out(count: int) -> list[str]:
    if count == 0:
        return []
    return [f"… {count} {'line' if count == 1 else 'lines'} left out …"]
