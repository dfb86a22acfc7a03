"""Judges the names of new files: what other systems read as another name, or cannot hold.

| a new part of a path                          | allowed                                        |
|-----------------------------------------------|------------------------------------------------|
| longer than `NAME_BYTES`, the path longer than| no: no session could start from it             |
| `PATH_BYTES`                                  |                                                |
| with characters that no one sees, or a space  | no                                             |
| that is not U+0020                            |                                                |
| ends in a dot or a space                      | no: Windows drops it                           |
| a colon: a stream of another file on Windows  | where the base has names with one              |
| `CON`, `aux.txt`, `COM1` …: devices of Windows| where the base has such names                  |
| any other                                     | yes                                            |

Case and Unicode forms are judged by `diff_rules.collisions`, what git cannot store at collection.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple
from unicodedata import category

from workflows.domain.violation import DiffRule, Violation
from workflows.policy.text.visible_text import UNSEEN_IN_A_NAME, escaped

NAME_BYTES: Final = 255
"""What file systems take; a longer name cannot be checked out."""
PATH_BYTES: Final = 3_500
"""What a worktree takes, within the 4,095 bytes of a path."""
_DEVICE: Final = re.compile(
    r"(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9\u00b9\u00b2\u00b3]) *(?:\..*)?",
    re.IGNORECASE,
)


class _Rule(NamedTuple):
    breaks: Callable[[str], bool]
    text: str
    is_excused: bool
    """Where the base has such names, the project does not mind."""


def _is_unseen(name: str) -> bool:
    return any(c in UNSEEN_IN_A_NAME or (c != " " and category(c) == "Zs") for c in name)


def _ends_oddly(name: str) -> bool:
    return name != name.rstrip(". ")


def _has_colon(name: str) -> bool:
    return ":" in name


def _is_device(name: str) -> bool:
    return _DEVICE.fullmatch(name) is not None


_RULES: Final = (
    _Rule(_is_unseen, "has characters that no one sees", is_excused=False),
    _Rule(
        _ends_oddly,
        "ends in a dot or a space, which Windows drops: it would be another file there",
        is_excused=False,
    ),
    _Rule(_has_colon, "has a colon, which Windows reads as a stream", is_excused=True),
    _Rule(_is_device, "is a device on Windows, where it cannot be checked out", is_excused=True),
)


def name_faults(added: Sequence[str], paths: Iterable[str]) -> Iterator[Violation]:
    """Find new names that cannot be kept.

    Args:
        added: paths that are new.
        paths: of every file, including the new ones.
    """
    if not added:
        return
    new = frozenset(added)
    before = [path for path in paths if path not in new]
    known = {part for path in before for part in path.split("/")}
    excused = [r for r in _RULES if r.is_excused and any(map(r.breaks, known))]
    for path in added:
        if text := _fault(path, known, excused):
            yield Violation(rule=DiffRule.NAME, path=path, text=text)


def length_fault(path: bytes) -> str | None:
    """Return what is too long for a worktree, as `a name of 300`; None if nothing is."""
    longest = max(len(part) for part in path.split(b"/"))
    if longest > NAME_BYTES:
        return f"a name of {longest}"
    return f"a path of {len(path)}" if len(path) > PATH_BYTES else None


def _fault(path: str, known: set[str], excused: Sequence[_Rule]) -> str | None:
    if what := length_fault(path.encode("utf-8", "replace")):
        return (
            f"it has {what} bytes, and no session could start from it: names may have {NAME_BYTES} "
            f"and paths {PATH_BYTES}; shorten it"
        )
    for part in path.split("/"):
        if part in known:
            continue
        for rule in _RULES:
            if rule not in excused and rule.breaks(part):
                return f"the name {escaped(part, UNSEEN_IN_A_NAME)!r} {rule.text}; rename it"
    return None
