"""Removes here-documents from a text before it is parsed, and puts a redirection in their place.

The grammar accepts `<NAME` wherever bash accepts `<<NAME`, but parses here-documents themselves
only in some places. `bash_parser` checks in the grammar's tree that each place really is a
redirection; otherwise the text counts as unreadable.
"""

import re
from typing import NamedTuple

_OPERATOR = re.compile(
    r"(?<!<)<<(?P<tabs>-?)[ \t]*"
    r"(?:'(?P<single>[^'\n\\]+)'|\"(?P<double>[^\"\n\\$`]+)\"|(?P<escape>\\?)(?P<plain>[\w.+-]+))"
    r"(?=[\s;|&<>()]|$)"
)
_EXPANSION = re.compile(r"\\.|[$`]", re.DOTALL)


class HereDocument(NamedTuple):
    """One here-document that was removed."""

    at: int
    """Where its redirection's target begins in the shortened text, in bytes."""
    line_end: int
    """The position in the shortened text of the newline after which its text began, in bytes."""
    text: str
    is_quoted: bool
    """Nothing in it is expanded."""

    @property
    def is_plain(self) -> bool:
        """Whether a program gets exactly `text`."""
        return self.is_quoted or not _EXPANSION.search(self.text)


class Shortened(NamedTuple):
    """A text without its here-documents."""

    text: str
    documents: tuple[HereDocument, ...]


def take_out(text: str) -> Shortened:
    """Remove every here-document whose end is found."""
    if "<<" not in text:
        return Shortened(text, ())
    lines = text.split("\n")
    kept: list[str] = []
    documents: list[HereDocument] = []
    start = place = 0
    while place < len(lines):
        line, found, after = _line(lines, place)
        end = start + len(line.encode())
        documents += [
            HereDocument(start + at, end, body, is_quoted) for at, body, is_quoted in found
        ]
        kept.append(line)
        start = end + 1
        place = after
    return Shortened("\n".join(kept), tuple(documents))


def _line(lines: list[str], place: int) -> tuple[str, list[tuple[int, str, bool]], int]:
    """Shorten one line; return it, its documents with their places in it, and the next line."""
    line, after = lines[place], place + 1
    found: list[tuple[int, str, bool]] = []
    shortened, copied = "", 0
    for match in _OPERATOR.finditer(line):
        word = match["single"] or match["double"] or match["plain"]
        end = _end(lines, after, word, has_tabs=bool(match["tabs"]))
        if end is None:
            continue
        shortened += f"{line[copied : match.start()]}<"
        body = "".join(f"{each}\n" for each in lines[after:end])
        found.append((len(shortened.encode()), body, not match["plain"] or bool(match["escape"])))
        shortened += f"here{len(found)}"
        copied, after = match.end(), end + 1
    return shortened + line[copied:], found, after


def _end(lines: list[str], after: int, word: str, *, has_tabs: bool) -> int | None:
    for place in range(after, len(lines)):
        line = lines[place].lstrip("\t") if has_tabs else lines[place]
        if line == word:
            return place
    return None
