"""How a tool's output becomes text for a model: harmless, cut, and never broken inside a character.

Secrets are taken out by the caller, on the whole output (`activities.text.redaction`).
"""

import re
import unicodedata
from dataclasses import dataclass

from workflows.policy.text.visible_text import IN_A_MODELS_INPUT, replaced

WHOLE_CHARACTERS = 10_000
"""Up to here an observation is shown whole."""
_PART_CHARACTERS = 5_000
_LARGE_BYTES = 400_000
_END_BYTES = 100_000
"""At most four bytes a character, and room for what is taken out."""

_SEQUENCES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours, cursor movement
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # titles, links
    r"|\x1b[PX^_][^\x1b]*\x1b\\"  # device strings
    r"|\x1b[ -/]*[0-~]"
)
_PICTURES = {chr(code): chr(0x2400 + code) for code in range(32)} | {"\x7f": "\u2421"}


@dataclass(frozen=True)
class Shown:
    """A command's output as a model may see it."""

    head: str
    tail: str = ""
    """Empty where nothing was left out."""

    @property
    def is_cut(self) -> bool:
        """Whether something was left out between head and tail."""
        return bool(self.tail)

    def text(self, handle: str, size_bytes: int) -> str:
        """Join head and tail with a line that says what is between them, and how to see it.

        Args:
            handle: what `read` calls the whole output.
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
    """Decode and cut a command's output: whole up to 10,000 characters, else both ends."""
    if len(output) > _LARGE_BYTES:
        # Only the ends are decoded: megabytes would hold up the event loop.
        return Shown(_first(decoded(output[:_END_BYTES])), _last(decoded(output[-_END_BYTES:])))
    text = decoded(output)
    if len(text) > WHOLE_CHARACTERS:
        return Shown(_first(text), _last(text))
    return Shown(text)


def decoded(output: bytes) -> str:
    """Decode output: UTF-8, all else as U+FFFD, terminal control made harmless.

    A line that was overwritten by carriage returns (a progress bar) keeps its last state, as a
    terminal would show it.
    """
    text = _SEQUENCES.sub("", output.decode("utf-8", "replace"))
    lines = (line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    return harmless("\n".join(lines))


def harmless(text: str) -> str:
    """Replace control characters by their pictures, and lone surrogates and the like by U+FFFD."""
    return replaced(text, IN_A_MODELS_INPUT, _PICTURES)


def _first(text: str) -> str:
    return text[: _boundary(text, _PART_CHARACTERS)]


def _last(text: str) -> str:
    return text[_boundary(text, max(0, len(text) - _PART_CHARACTERS)) :]


def _boundary(text: str, at: int) -> int:
    """Move forward past marks that belong to the character before them."""
    while at < len(text) and (unicodedata.combining(text[at]) or text[at] in "\u200d\ufe0e\ufe0f"):
        at += 1
    return at
