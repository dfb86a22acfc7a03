"""Characters that a text must not show as they are, and how they are made visible.

Each use has its own set, because the dangers differ: a terminal obeys controls, a name that changes
its direction reads as another, and a plan's text may need the joiners of its language. No set
removes a character; the caller decides what to do with it (refuse, write out, replace).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from unicodedata import category

_ODD: Final = re.compile(r"[^\x20-\x7e\u00a1-\u00ac\u00ae-\u02ff]")
"""Characters to check before showing a text; other Latin text skips the check."""


@dataclass(frozen=True)
class Characters:
    """A set of characters; ask with `in`."""

    categories: frozenset[str]
    """Unicode's general categories: `Cc` controls, `Cf` formats (with all that change the direction
    of writing, and the joiners), `Cs` surrogates, `Co` private use, `Zl` and `Zp` separators."""
    more: frozenset[str] = frozenset()
    """In the set, whatever their category."""
    less: frozenset[str] = frozenset()
    """Not in the set."""

    def __contains__(self, character: str) -> bool:
        """Tell whether a character, a string of length one, belongs to the set."""
        if character in self.less:
            return False
        return character in self.more or category(character) in self.categories


_JOINERS: Final = frozenset("\u200c\u200d")
"""Emoji and several scripts need them."""
_BREAKS: Final = frozenset("\n\t")
_TURNING: Final = frozenset(
    "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)
"""They change the direction of writing, so that a text reads as another."""
_BLANK: Final = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters and signs that look like nothing. Programs draw with them, so they stay in the output
that agents see; what a person reads or approves shows them."""
_FILLING: Final = frozenset(
    ["\u034f", "\u17b4", "\u17b5", "\u180b", "\u180c", "\u180d", "\u180f"]
    + ["\U00013441", "\U00013442", "\U00016fe4", "\U0001d159"]
    + [chr(number) for number in (*range(0xFE00, 0xFE0E), *range(0xE0100, 0xE01F0))]
)
"""Marks that join, fill or select and show nothing by themselves. Text has been hidden in selectors
of variants; the two that emoji use are not here."""
_ACTING: Final = frozenset({"Cc", "Cf", "Zl", "Zp"})

ON_A_TERMINAL: Final = Characters(_ACTING | {"Cs", "Co"}, more=_BLANK | _FILLING, less=_BREAKS)
IN_PROGRAM_OUTPUT: Final = Characters(_ACTING | {"Cs"}, less=_BREAKS | _JOINERS)
IN_A_MODELS_INPUT: Final = Characters(frozenset({"Cc", "Cs"}), more=_TURNING, less=_BREAKS)
IN_A_FILE_NAME: Final = Characters(frozenset({"Cc", "Zl", "Zp"}), more=_TURNING)
"""Without the formats that HFS+ ignores, because git keeps those in names."""
IN_A_CLAIM: Final = Characters(_ACTING | {"Cs"}, more=_BLANK | _FILLING)
IN_AN_ISSUE: Final = Characters(
    _ACTING | {"Cs", "Co"}, more=_BLANK | _FILLING, less=_BREAKS | _JOINERS
)
IN_A_PLAN: Final = Characters(_ACTING, less=_BREAKS | _JOINERS | {"\r", "\u00ad"})
IGNORED_IN_A_NAME: Final = Characters(frozenset({"Cf"}), more=_BLANK | _FILLING)
"""What some file system, or an eye, takes for nothing: without it, a name reads as another."""
UNSEEN_IN_A_NAME: Final = Characters(_ACTING | {"Cs"}, more=_BLANK | _FILLING)
SHOWING_NOTHING: Final = Characters(_ACTING | {"Zs", "Mn", "Me"}, more=_BLANK)
"""A text of only these looks empty."""


def escaped(text: str, unsafe: Characters) -> str:
    r"""Return `text` with each character of `unsafe` written out, as `\x1b` or `\u202e`."""

    def _written(found: re.Match[str]) -> str:
        character = found[0]
        return character.encode("unicode_escape").decode() if character in unsafe else character

    return _ODD.sub(_written, text)


def replaced(text: str, unsafe: Characters, pictures: Mapping[str, str]) -> str:
    """Return `text` with each character of `unsafe` replaced: as `pictures` says, or by U+FFFD."""

    def _replacement(found: re.Match[str]) -> str:
        character = found[0]
        return pictures.get(character, "\ufffd") if character in unsafe else character

    return _ODD.sub(_replacement, text)
