"""The convention of a repository's commit subjects, if its last commits clearly show one.

| most of the last subjects                 | what a new subject follows                        |
|-------------------------------------------|---------------------------------------------------|
| `feat(cart): add a currency`              | type and, where they have one, scope              |
| `SHOP-142: Add a currency`, `[#12] …`     | the ticket that the goal or the task names        |
| `net/http: add a currency`                | the area that the changed files are in            |
| any other                                 | no prefix                                         |
| begin with a small, or a capital, letter  | the same letter case                              |
| end with a full stop                      | the same end                                      |

"Most" is four of five, of at least five. Nothing is invented: without a ticket, a known scope or a
known area there is no such prefix. What machines write (merges, reverts, fixups) does not count.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, Literal, NamedTuple

from workflows.domain.plan import TaskKind

READ: Final = 50
"""How many of the last subjects are worth reading."""
_LEAST: Final = 5
_MOST: Final = 0.8
_MACHINE: Final = re.compile(r'Merge |Revert "|fixup! |squash! |amend! |Initial commit$|Bump \S+ ')
_SUFFIX: Final = re.compile(r"\s+\((?:#|!)\d+\)$")
"""What hosting services add when they squash."""
_TYPED: Final = re.compile(
    r"(?P<type>feat|feature|fix|docs?|style|refactor|perf|tests?|build|ci|chore|security|deps)"
    r"(?:\((?P<scope>[^()\s]+)\))?!?: (?P<text>\S.*)"
)
_TICKET: Final = re.compile(
    r"(?P<open>\[?)(?P<key>[A-Z][A-Z0-9]{1,9}-\d+|#\d+)(?P<close>\]?:?) (?P<text>\S.*)"
)
_KEY: Final = re.compile(r"(?<![\w#-])(?:[A-Z][A-Z0-9]{1,9}-\d+|#\d+)(?![\w-])")
_AREA: Final = re.compile(r"(?P<area>[a-z0-9_.-]+(?:/[a-z0-9_.-]+)*): (?P<text>\S.*)")
_TYPES: Final = {
    TaskKind.CODE: ("feat", "feature"),
    TaskKind.TESTS: ("test", "tests"),
    TaskKind.DOCS: ("docs", "doc"),
    TaskKind.REFACTOR: ("refactor",),
    TaskKind.ARCHITECTURE: ("refactor",),
    TaskKind.SECURITY: ("security", "fix"),
}
_FIXING: Final = re.compile(r"(?:fix|correct|repair|prevent|avoid)(?:e[sd]|s|ed)?\b", re.IGNORECASE)

Style = Literal["plain", "typed", "ticket", "area"]


class Convention(NamedTuple):
    """How a repository's subjects look."""

    style: Style = "plain"
    known: frozenset[str] = frozenset()
    """Types, areas, or projects of tickets, that it uses."""
    scopes: frozenset[str] = frozenset()
    """With `typed`, the scopes that it uses; empty: most subjects have none."""
    brackets: tuple[str, str] = ("", ":")
    """With `ticket`, what stands before and after the ticket."""
    case: Literal["lower", "upper", "any"] = "any"
    """Of the first letter after the prefix."""
    is_stopped: bool = False
    """Whether it ends with a full stop."""


def convention_of(subjects: Sequence[str]) -> Convention:
    """Return the convention that a repository's last subjects show.

    Args:
        subjects: the newest first; further ones than `READ` do not count.
    """
    own = [_SUFFIX.sub("", each.strip()) for each in subjects[:READ]]
    own = [each for each in own if each and not _MACHINE.match(each)]
    if len(own) < _LEAST:
        return Convention()
    found = _typed(own) or _ticket(own) or _area(own) or (Convention(), own)
    convention, texts = found
    return convention._replace(
        case=_case(texts), is_stopped=_is_most(each.endswith(".") for each in texts)
    )


def subject(
    convention: Convention, title: str, kind: TaskKind, paths: Iterable[str], named: str
) -> str:
    """Return the subject of a commit.

    Args:
        convention: the repository's.
        title: of the task.
        kind: of the task.
        paths: the changed files.
        named: the words in which a ticket may be named: the goal, then the task.
    """
    text = title.strip()
    is_ready = {"typed": _TYPED, "ticket": _TICKET, "area": _AREA}.get(convention.style)
    if is_ready is not None and is_ready.fullmatch(text):
        return text
    prefix = _prefix(convention, text, kind, list(paths), named)
    return f"{prefix}{_cased(convention, text)}"


def _is_most(facts: Iterable[bool]) -> bool:
    each = list(facts)
    return sum(each) >= _MOST * len(each)


Found = tuple[Convention, list[str]]


def _matched(form: re.Pattern[str], own: list[str]) -> list[re.Match[str]]:
    found = [match for each in own if (match := form.fullmatch(each))]
    return found if len(found) >= _MOST * len(own) else []


def _typed(own: list[str]) -> Found | None:
    if not (found := _matched(_TYPED, own)):
        return None
    scopes = [each["scope"] for each in found]
    is_scoped = _is_most(scope is not None for scope in scopes)
    known = frozenset(scope for scope in scopes if scope) if is_scoped else frozenset[str]()
    types = frozenset(each["type"] for each in found)
    return Convention("typed", types, known), [each["text"] for each in found]


def _ticket(own: list[str]) -> Found | None:
    if not (found := _matched(_TICKET, own)):
        return None
    ((brackets, _),) = Counter((each["open"], each["close"]) for each in found).most_common(1)
    projects = frozenset(_project(each["key"]) for each in found)
    return Convention("ticket", projects, brackets=brackets), [each["text"] for each in found]


def _project(key: str) -> str:
    """Return what tickets of one tracker have in common: `SHOP` of `SHOP-142`, `#` of `#12`."""
    return "#" if key.startswith("#") else key.partition("-")[0]


def _area(own: list[str]) -> Found | None:
    if not (found := _matched(_AREA, own)):
        return None
    areas = frozenset(each["area"] for each in found)
    return Convention("area", areas), [each["text"] for each in found]


def _case(texts: list[str]) -> Literal["lower", "upper", "any"]:
    if _is_most(each[0].islower() for each in texts):
        return "lower"
    return "upper" if _is_most(each[0].isupper() for each in texts) else "any"


def _cased(convention: Convention, text: str) -> str:
    """Return a text with the first letter and the end that the convention has.

    A word with a capital further on is a name (`HTTPS`, `JavaScript`, `README.md`): it stays.
    """
    word = text.partition(" ")[0]
    if convention.case == "lower" and word[1:] == word[1:].lower() and len(word) > 1:
        text = f"{text[0].lower()}{text[1:]}"
    elif convention.case == "upper" and word.isalpha() and word.islower():
        text = f"{text[0].upper()}{text[1:]}"
    return f"{text.rstrip('.')}." if convention.is_stopped else text


def _prefix(
    convention: Convention, title: str, kind: TaskKind, paths: list[str], named: str
) -> str:
    match convention.style:
        case "typed":
            scope = _place(convention.scopes, paths)
            return f"{_type(convention.known, title, kind)}{f'({scope})' if scope else ''}: "
        case "ticket":
            keys = (found[0] for found in _KEY.finditer(f"{named} {title}"))
            key = next((each for each in keys if _project(each) in convention.known), "")
            before, after = convention.brackets
            return f"{before}{key}{after} " if key else ""
        case "area":
            area = _place(convention.known, paths)
            return f"{area}: " if area else ""
        case "plain":
            return ""


def _type(known: frozenset[str], title: str, kind: TaskKind) -> str:
    is_fix = kind is TaskKind.CODE and _FIXING.match(title)
    types = ("fix",) if is_fix else _TYPES[kind]
    return next((each for each in types if each in known), types[-1] if is_fix else types[0])


def _place(known: frozenset[str], paths: list[str]) -> str:
    """Return the one known name that all paths are under: the longest, of those that are nearest.

    A name stands for a folder (`cart`, `net/http`) or for a file without its ending (`cart.py`).
    """
    fitting = [each for each in sorted(known) if paths and all(_is_in(each, p) for p in paths)]
    return max(fitting, key=len, default="")


def _is_in(name: str, path: str) -> bool:
    whole = f"/{path}"
    stem = whole.rpartition(".")[0] if "." in whole.rpartition("/")[2] else whole
    return f"/{name}/" in f"{stem}/" or whole.endswith(f"/{name}")
