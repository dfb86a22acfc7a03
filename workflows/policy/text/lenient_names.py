"""How the most lenient file systems read a path: what counts there as the same name."""

import re
from functools import lru_cache
from typing import Final
from unicodedata import normalize

from workflows.policy.text.visible_text import IGNORED_IN_A_NAME

_USUAL: Final = re.compile(r"(?:[a-z0-9_+@-]|\.(?=[^/.])|/)+")


@lru_cache(maxsize=8_192)
def as_read_elsewhere(path: str) -> str:
    """Return a path as the most lenient file system reads it.

    Case and ignored characters do not count, as on HFS+; dots and spaces at the end of a name, and
    what follows a colon, are dropped, as on Windows.
    """
    if _USUAL.fullmatch(path):
        return path
    text = "".join(c for c in normalize("NFC", path).casefold() if c not in IGNORED_IN_A_NAME)
    return "/".join(_part(part) for part in text.split("/"))


def _part(part: str) -> str:
    return part if part in {".", ".."} else part.split(":", maxsplit=1)[0].rstrip(". ")
