"""A program's output as text that is safe to show, and short.

Pure. Colours and other terminal commands are taken out, what overwrites itself (progress bars) is
shown as it ended, and other control and direction-changing characters become visible escapes, so
that no output can play with a person's terminal or hide what it says.
"""

import codecs
import re
import unicodedata

MAX_EXCERPT_CHARS = 6_000
_MAX_LINE_CHARS = 600
_TAIL_CHARS = 2_600

_TERMINAL = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x1b[\]PX^_][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)?"  # OSC, DCS and the like: titles, links
    r"|\x1b[ -/]*[0-~]"  # two-character sequences
)
_OVERWRITTEN = re.compile(r"[^\n\r]*\r(?=[^\n\r])")
_ODD = re.compile(r"[^\n\t\x20-\x7e\u00a1-\u00ac\u00ae-\u02ff]")
"""What must be looked at before it is shown; the rest of Latin text passes at full speed."""
_SHOWN_AS_IS = frozenset("\u200c\u200d")
"""Joiners: emoji and several scripts need them."""
_FAILURE = re.compile(
    r"^(?:=+ (?:FAILURES|ERRORS) =+$|(?:FAIL|ERROR|UNEXPECTED SUCCESS): |\s*--- FAIL: |failures:$"
    r"|---- .* stdout ----$|\s*not ok \d|\s*● |\s*FAIL\s|\s*✖ |error(?:\[\w+\])?: "
    r"|Traceback \(most recent call last\)|panic: |thread '.*' panicked at"
    r"|.*:\d+(?::\d+)?: (?:error|[A-Z]+\d+)\b)"
)


def plain_text(text: str) -> str:
    """Take out terminal commands and what was overwritten; lines end in a line feed alone."""
    text = _TERMINAL.sub("", text).replace("\r\n", "\n")
    return _OVERWRITTEN.sub("", text).replace("\r", "")


def decode_output(output: bytes) -> str:
    """Decode UTF-8; foreign bytes become U+FFFD, a character cut off at the end is left out."""
    return codecs.getincrementaldecoder("utf-8")("replace").decode(output, final=False)


def excerpt(output: bytes, limit: int = MAX_EXCERPT_CHARS) -> str:
    """Cut an output to whole lines: the first failure and the end, or the start and the end.

    Args:
        output: as it came.
        limit: characters of the answer, at least 1,000.
    """
    lines = [_shown(line) for line in _candidates(plain_text(decode_output(output)))]
    text = "\n".join(lines).strip("\n")
    return text if len(text) <= limit else _cut(text.split("\n"), limit)


def _candidates(text: str) -> list[str]:
    return [_shorten(line.rstrip()) for line in text.split("\n")]


def _shorten(line: str) -> str:
    if len(line) <= _MAX_LINE_CHARS:
        return line
    end = _MAX_LINE_CHARS - 40
    while end > _MAX_LINE_CHARS - 100 and _continues(line[end]):
        end -= 1
    return f"{line[:end]} … {len(line) - end} more characters"


def _continues(char: str) -> bool:
    """Whether this code point belongs to the one before it (an accent, a joiner, a variant)."""
    return unicodedata.category(char) in {"Mn", "Mc", "Me", "Cf"}


def _shown(line: str) -> str:
    return _ODD.sub(_escape, line)


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    if char in _SHOWN_AS_IS or unicodedata.category(char) not in {"Cc", "Cf", "Cs", "Zl", "Zp"}:
        return char
    return char.encode("unicode_escape").decode("ascii")


def _cut(lines: list[str], limit: int) -> str:
    tail = _fitting(lines[::-1], _TAIL_CHARS * limit // MAX_EXCERPT_CHARS)
    first_of_tail = len(lines) - tail
    marker_chars = 80
    budget = limit - sum(len(line) + 1 for line in lines[first_of_tail:]) - marker_chars
    start = _first_failure(lines[:first_of_tail])
    shown = _fitting(lines[start:first_of_tail], budget)
    parts = [
        *_left_out(start),
        *lines[start : start + shown],
        *_left_out(first_of_tail - start - shown),
        *lines[first_of_tail:],
    ]
    return "\n".join(parts)


def _fitting(lines: list[str], budget: int) -> int:
    """How many lines from the start fit into `budget` characters."""
    used = 0
    for count, line in enumerate(lines):
        used += len(line) + 1
        if used > budget:
            return count
    return len(lines)


def _first_failure(lines: list[str]) -> int:
    for number, line in enumerate(lines):
        if _FAILURE.match(line):
            return number
    return 0


def _left_out(count: int) -> list[str]:
    if count == 0:
        return []
    return [f"… {count} {'line' if count == 1 else 'lines'} left out …"]
