"""Resolves bash's quotes, escapes and braces: raw text becomes the text that a program gets.

While a word is built, unquoted special characters are written as marks that no text may hold, so
that quoted ones stay what they are.
"""

import re
import sys
from functools import lru_cache
from itertools import pairwise
from typing import Final

from activities.adapters.shell.unreadable import UnreadableError
from workflows.domain.agent.shell_tree import UNKNOWN, Word

_SPECIAL: Final = "*?[{,}~"
_MARKS: Final = {letter: chr(0xFDD0 + place) for place, letter in enumerate(_SPECIAL)}
_PLAIN: Final = {ord(mark): letter for letter, mark in _MARKS.items()}
_TO_MARKS: Final = str.maketrans(_MARKS)
_GLOBS: Final = tuple(_MARKS[letter] for letter in "*?[")
_OPEN, _COMMA, _CLOSE, _TILDE = (_MARKS[letter] for letter in "{,}~")
MANY: Final = "\ufddf"
"""With `UNKNOWN`: an expansion without quotes, which may become several words or none."""

FORBIDDEN: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ufdd0-\ufdef\ud800-\udfff]")
"""What no command may hold: control characters, and the marks."""
_MOST_WORDS: Final = 64
_LAST_ASCII: Final = 0x7F
"""Bytes above it are parts of characters."""

_ANSI: Final = re.compile(
    r"\\(?:x[0-9A-Fa-f]{1,2}|u[0-9A-Fa-f]{1,4}|U[0-9A-Fa-f]{1,8}|[0-7]{1,3}|c.|.)", re.DOTALL
)
_LETTERS: Final = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t",
    "v": "\v",
}  # fmt: skip
_SIMPLE: Final = re.compile(r"[\w./:=@%+-]*", re.ASCII)
_UNQUOTED: Final = re.compile(r"\\(.?)|([`'\" \t\n;&|<>])|(\$[({])", re.DOTALL)
_DOUBLE: Final = re.compile(r"\\([$`\"\\\n])|([`\"])|(\$[({])")


def unquoted(raw: str, offset: int) -> str:
    """Resolve raw text without quotes, its expansions already removed.

    Raises:
        UnreadableError: it holds text that the grammar should have parsed differently.
    """
    if _SIMPLE.fullmatch(raw):
        return raw
    parts: list[str] = []
    end = 0
    for match in _UNQUOTED.finditer(raw):
        if match[2] or match[3]:
            raise UnreadableError(offset, f"{match[0]!r} inside a word")
        parts.append(raw[end : match.start()].translate(_TO_MARKS))
        escaped = match[1]
        parts.append("" if escaped == "\n" else escaped or "\\")
        end = match.end()
    parts.append(raw[end:].translate(_TO_MARKS))
    return "".join(parts)


def double_quoted(raw: str, offset: int) -> str:
    """Resolve raw text between double quotes, its expansions already removed.

    Raises:
        UnreadableError: it holds text that the grammar should have parsed differently.
    """

    def resolved(match: re.Match[str]) -> str:
        if match[1] is None:
            raise UnreadableError(offset, f"{match[0]!r} inside double quotes")
        return "" if match[1] == "\n" else match[1]

    return _DOUBLE.sub(resolved, raw)


def ansi_quoted(raw: str, offset: int) -> str:
    r"""Resolve the inside of `$'…'`.

    Raises:
        UnreadableError: it holds a NUL, at which bash would cut it, or bytes that are not text.
    """
    text = _ANSI.sub(lambda match: _ansi(match[0][1:], offset), raw)
    if FORBIDDEN.search(text.translate(dict.fromkeys(range(1, 32)))):
        raise UnreadableError(offset, "an escape that is not a text")
    return text


def _ansi(escape: str, offset: int) -> str:
    first = escape[0]
    if first in "01234567":
        code = int(escape, 8)
    elif first in "xuU":
        if len(escape) == 1:  # bash reads `\x{67}`, and does not say so
            raise UnreadableError(offset, f"'\\{first}' without digits")
        code = int(escape[1:], 16)
    elif first == "c" and len(escape) > 1:
        code = ord(escape[1]) & 0x1F
    else:
        return _LETTERS.get(first, first if first in "\\'\"?" else f"\\{first}")
    is_byte = first in "01234567x"
    if code == 0 or code > (_LAST_ASCII if is_byte else sys.maxunicode):
        raise UnreadableError(offset, "an escape that is not a text")
    return chr(code)


def expanded(marked: str) -> tuple[Word, ...]:
    """Turn a word with marks into the resulting words.

    Args:
        marked: built from the results of the functions above, `UNKNOWN`, and `UNKNOWN + MANY`.
    """
    if _SIMPLE.fullmatch(marked):
        return _known(marked)
    texts = _braces(marked)
    if texts is None:
        return (Word(text=UNKNOWN, is_many=True),)
    return tuple(_word(text) for text in texts)


@lru_cache(maxsize=4_096)
def _known(text: str) -> tuple[Word, ...]:
    """Most words are plain, and the same words recur."""
    return (Word(text=text),)


def _word(marked: str) -> Word:
    is_many = MANY in marked
    is_glob = any(mark in marked for mark in _GLOBS)
    if marked.startswith((f"{_TILDE}+", f"{_TILDE}-")):
        marked = UNKNOWN + marked[2:]
    return Word(text=marked.translate(_PLAIN).replace(MANY, ""), is_many=is_many, is_glob=is_glob)


def _braces(text: str) -> list[str] | None:
    """Expand `{a,b}`; None if there are too many words, or for a range (`{1..9}`)."""
    if _OPEN not in text:
        return [text]
    todo, done = [text], list[str]()
    while todo:
        if len(todo) + len(done) > _MOST_WORDS:
            return None
        one = todo.pop()
        found = _first_brace(one)
        if found is None:
            done.append(one)
            continue
        start, end, cuts = found
        inner = one[start + 1 : end]
        if not cuts:
            if ".." in inner:
                return None
            # Not a brace expansion: the braces stand for themselves.
            literal = inner.replace(_OPEN, "{").replace(_CLOSE, "}")
            todo.append(f"{one[:start]}{{{literal}}}{one[end + 1 :]}")
            continue
        bounds = [start, *cuts, end]
        parts = [one[a + 1 : b] for a, b in pairwise(bounds)]
        todo += [f"{one[:start]}{part}{one[end + 1 :]}" for part in reversed(parts)]
    return done


def _first_brace(text: str) -> tuple[int, int, list[int]] | None:
    """Find the first closed brace: its start, its end, and its own commas."""
    start = text.find(_OPEN)
    while start >= 0:
        depth, cuts = 0, list[int]()
        for place in range(start, len(text)):
            letter = text[place]
            depth += (letter == _OPEN) - (letter == _CLOSE)
            if letter == _COMMA and depth == 1:
                cuts.append(place)
            if depth == 0:
                return start, place, cuts
        start = text.find(_OPEN, start + 1)
    return None
