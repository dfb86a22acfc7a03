"""How a tool's output becomes text for a model: harmless, cut, and never broken inside a character.

The caller removes secrets from the whole output first (`activities.text.redaction`).
"""

import re
import unicodedata
from dataclasses import dataclass

from workflows.policy.text.visible_text import IN_A_MODELS_INPUT, replaced

WHOLE_CHARACTERS = 10_000
"""An observation up to this length is shown whole."""
_PART_CHARACTERS = 5_000
_LARGE_BYTES = 400_000
_END_BYTES = 100_000
"""At most four bytes per character, and room for what is removed."""

_SEQUENCES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours, cursor movement
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # titles, links
    r"|\x1b[PX^_][^\x1b]*\x1b\\"  # device strings
    r"|\x1b[ -/]*[0-~]"
)
_PICTURES = {chr(code): chr(0x2400 + code) for code in range(32)} | {"\x7f": "\u2421"}


@dataclass(frozen=True)
class Shown:
    """A command's output as shown to a model."""

    head: str
    tail: str = ""
    """Empty if nothing was left out."""

    @property
    def is_cut(self) -> bool:
        """Whether text between head and tail was left out."""
        return bool(self.tail)

    def text(self, handle: str, size_bytes: int) -> str:
        """Join head and tail with a line that says what was left out, and how to see it.

        Args:
            handle: the name of the whole output for `read`.
            size_bytes: its size.
        """
        if not self.is_cut:
            return self.head
        left_out = (
            f"[… the middle of {size_bytes} bytes is left out. See more: read with path {handle!r} "
            "and an offset in lines; or run it again through rg, head, tail or sed -n …]"
        )
        return f"{self.head}\n{left_out}\n{self.tail}"


def shown(output: bytes) -> Shown:
    """Decode and cut a command's output: whole up to 10,000 characters, otherwise both ends."""
    if len(output) > _LARGE_BYTES:
        # Only the ends are decoded: megabytes would block the event loop.
        return Shown(_first(decoded(output[:_END_BYTES])), _last(decoded(output[-_END_BYTES:])))
    text = decoded(output)
    if len(text) > WHOLE_CHARACTERS:
        return Shown(_first(text), _last(text))
    return Shown(text)


def decoded(output: bytes) -> str:
    """Decode output as UTF-8, the rest as U+FFFD, and make terminal controls harmless.

    A line that carriage returns overwrote (a progress bar) keeps its last state, as on a
    terminal.
    """
    text = _SEQUENCES.sub("", output.decode("utf-8", "replace"))
    lines = (line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    return harmless("\n".join(lines))


def harmless(text: str) -> str:
    """Replace controls with their pictures, and lone surrogates and the like with U+FFFD."""
    return replaced(text, IN_A_MODELS_INPUT, _PICTURES)


def _first(text: str) -> str:
    return text[: _boundary(text, _PART_CHARACTERS)]


def _last(text: str) -> str:
    return text[_boundary(text, max(0, len(text) - _PART_CHARACTERS)) :]


def _boundary(text: str, at: int) -> int:
    """Move forward past marks that belong to the preceding character."""
    while at < len(text) and (unicodedata.combining(text[at]) or text[at] in "\u200d\ufe0e\ufe0f"):
        at += 1
    return at
