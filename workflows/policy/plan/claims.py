"""Claims: which paths a task may write, and whether two tasks could write the same one.

A claim is a glob over whole paths from the repository's root: `?` and `[a-z]` stand for one
character, `*` for any within a segment, `**` (a whole segment) for any number of segments. A claim
`P` also means everything below `P`. A segment with brackets also means itself read literally,
because web frameworks name files `app/[id]/page.tsx`.

Two globs are compared as patterns, in one pass over both, and never by listing today's files.
`overlap` ignores case (some file systems do) and errs towards "they overlap"; `is_claimed` is
exact and errs towards "not claimed". The caller resolves symlinks.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple, TypeVar
from unicodedata import is_normalized, normalize

from workflows.policy.text.visible_text import IN_A_CLAIM

MAX_CHARS: Final = 200
MAX_RANGE: Final = 256
_STAR: Final = "*"
_ONE: Final = "?"
_ABSOLUTE: Final = re.compile(r"[/~]|[A-Za-z]:/")
_BRACES: Final = re.compile(r"\{[^{}/]*,[^{}/]*\}")
_CLASS: Final = re.compile(r"\[([!^]?)(\]?[^\]]*)\]")
_RANGE: Final = re.compile(r"(.)-(.)|(.)", re.DOTALL)
_WILD: Final = re.compile(r"[*?\[]")


class CharSet(NamedTuple):
    """One character out of a set, or, negated, out of all others."""

    chars: frozenset[str]
    negated: bool


Token = str | CharSet
"""A literal character, `*`, `?`, or a set."""
Tokens = str | tuple[Token, ...]
Segment = tuple[Tokens, ...]
"""The ways to read one segment of a claim; a path matches if it matches one of them."""
Item = TypeVar("Item")

DEEP: Final[Segment] = ("**",)


class Pattern(NamedTuple):
    """A claim, ready for comparing; case is folded everywhere except in `exact`."""

    exact: tuple[Segment, ...]
    folded: tuple[Segment, ...]
    prefix: str
    """The beginning of each claimed path, with a `/` after it."""
    needed: frozenset[str]
    """Segments that every claimed path has, exactly; they alone distinguish most paths."""


def claim_fault(claim: str) -> str | None:
    """Say why a claim is invalid.

    Args:
        claim: the glob as the planner wrote it.

    Returns:
        The reason in words, or None for a valid claim.
    """
    return next((words for bad, words in _claim_checks(claim) if bad), None)


def _claim_checks(claim: str) -> Iterator[tuple[bool, str]]:
    """Go through the reasons for refusing a claim, the simplest first."""
    yield not claim.strip(), "it is empty: name a path, or ** for the whole repository"
    yield len(claim) > MAX_CHARS, f"it is longer than {MAX_CHARS} characters: claim a parent folder"
    yield (
        any(c in IN_A_CLAIM for c in claim),
        "it holds an invisible character: leave it out",
    )
    yield not is_normalized("NFC", claim), "it is not in Unicode normal form C: write it composed"
    yield "\\" in claim, "it holds a backslash: separate segments with /"
    yield bool(_ABSOLUTE.match(claim)), "it is absolute: write it from the repository's root"
    yield claim.startswith("!"), "a claim cannot exclude: name what the task may write"
    yield bool(_BRACES.search(claim)), "braces are not expanded: write one claim for each path"
    segments = claim.removesuffix("/").split("/")
    yield "" in segments, "it holds an empty segment (//): write one slash"
    yield "." in segments or ".." in segments, "it holds a segment . or ..: write it from the root"
    yield any(_is_git(s) for s in segments), "it names .git, which no task may write: drop it"
    yield any(_widest_range(s) > MAX_RANGE for s in segments), "it holds a huge range: use ?"
    yield any("**" in s and s != "**" for s in segments), "** must stand alone, as in src/**"


def overlap(a: Sequence[str], b: Sequence[str]) -> bool:
    """Tell whether both may claim the same path, whatever files exist today.

    Args:
        a: claims of one task that passed `claim_fault`.
        b: claims of another task.

    Returns:
        True if both claim a path, or paths that differ only in case.
    """
    theirs = [compile_claim(claim) for claim in b]
    return any(patterns_meet(mine, other) for mine in map(compile_claim, a) for other in theirs)


def is_claimed(path: str, claims: Iterable[str]) -> bool:
    """Tell whether a concrete path is covered by one of the claims.

    Args:
        path: from the repository's root, with `/`; symlinks already resolved.
        claims: claims that passed `claim_fault`.

    Returns:
        True if covered. A path that no claim may name (absolute, with `..` or `.git`) never is.
    """
    segments = normalize("NFC", path).split("/")
    if any(s in {"", ".", ".."} or _is_git(s) for s in segments):
        return False
    concrete, present = tuple(_literal(segment) for segment in segments), frozenset(segments)
    patterns = (compile_claim(claim) for claim in claims)
    return any(
        pattern.needed <= present and _paths_meet(pattern.exact, concrete) for pattern in patterns
    )


@lru_cache(maxsize=16_384)
def compile_claim(claim: str) -> Pattern:
    """Parse a claim once for all comparisons.

    Args:
        claim: a claim that passed `claim_fault`.

    Returns:
        Its pattern, which ends in `**` because a claim covers what is below it.
    """
    text = claim.removesuffix("/")
    exact = tuple(_read_segment(part) for part in text.split("/"))
    if exact[-1] != DEEP:
        exact = (*exact, DEEP)
    wild = _WILD.search(text)
    prefix = text[: wild.start()] if wild else f"{text}/"
    folded = tuple(tuple(_fold_tokens(t) for t in segment) for segment in exact)
    plain = (segment[0] for segment in exact if len(segment) == 1)
    needed = frozenset(one for one in plain if isinstance(one, str) and not _WILD.search(one))
    return Pattern(exact, folded, _fold(prefix), needed)


def patterns_meet(a: Pattern, b: Pattern) -> bool:
    """Tell whether two compiled claims share a path, case folded."""
    if not (a.prefix.startswith(b.prefix) or b.prefix.startswith(a.prefix)):
        return False
    return _paths_meet(a.folded, b.folded)


def _paths_meet(a: tuple[Segment, ...], b: tuple[Segment, ...]) -> bool:
    return _languages_meet(a, b, DEEP, _segments_meet)


def _segments_meet(a: Segment, b: Segment) -> bool:
    return any(_texts_meet(x, y) for x in a for y in b)


def _texts_meet(a: Tokens, b: Tokens) -> bool:
    """Compare two readings of a segment; most claims are plain and need no comparison by token."""
    if isinstance(a, str) and isinstance(b, str) and _ONE not in a and _ONE not in b:
        stars = _STAR in a, _STAR in b
        if stars == (False, False):
            return a == b
        if stars != (True, True):
            return _fits_plainly(a, b) if stars[1] else _fits_plainly(b, a)
    return _languages_meet(a, b, _STAR, _tokens_meet)


def _fits_plainly(text: str, pattern: str) -> bool:
    """Tell whether a plain text matches a pattern of plain pieces between stars."""
    head, *middle, tail = pattern.split(_STAR)
    if not text.startswith(head) or not text[len(head) :].endswith(tail):
        return False
    at, end = len(head), len(text) - len(tail)
    for piece in middle:
        found = text.find(piece, at, end)
        if found < 0:
            return False
        at = found + len(piece)
    return True


def _tokens_meet(a: Token, b: Token) -> bool:
    """Tell whether one character satisfies both tokens, neither of which is a star."""
    if isinstance(a, str):
        if isinstance(b, str):
            return a == b or _ONE in {a, b}
        return a == _ONE or (a in b.chars) != b.negated
    if isinstance(b, str):
        return _tokens_meet(b, a)
    if a.negated and b.negated:
        return True
    if a.negated:
        return bool(b.chars - a.chars)
    return bool(a.chars - b.chars) if b.negated else not a.chars.isdisjoint(b.chars)


def _languages_meet(
    a: Sequence[Item], b: Sequence[Item], star: Item, meet: Callable[[Item, Item], bool]
) -> bool:
    """Tell whether one text matches both patterns, whose only loops are stars.

    If both have a star, they can differ only before the first and after the last star, because each
    star takes all that the other pattern wants in between. So one pass over both is enough, however
    many stars they have; every item matches something.
    """
    if star in a and star in b:
        return _heads_meet(a, b, star, meet) and _heads_meet(a[::-1], b[::-1], star, meet)
    if star in a or star in b:
        pattern, text = (a, b) if star in a else (b, a)
        return _fits(text, pattern, star, meet)
    return len(a) == len(b) and all(map(meet, a, b))


def _heads_meet(
    a: Sequence[Item], b: Sequence[Item], star: Item, meet: Callable[[Item, Item], bool]
) -> bool:
    """Compare up to the first star of either."""
    for x, y in zip(a, b, strict=False):
        if star in (x, y):
            return True
        if not meet(x, y):
            return False
    return True


def _fits(
    text: Sequence[Item], pattern: Sequence[Item], star: Item, meet: Callable[[Item, Item], bool]
) -> bool:
    """Tell whether a text without stars matches a pattern, each star taking as little as it can."""
    at = wanted = resume = 0
    star_at: int | None = None
    while at < len(text):
        if wanted < len(pattern) and pattern[wanted] == star:
            star_at, resume, wanted = wanted, at, wanted + 1
        elif wanted < len(pattern) and meet(text[at], pattern[wanted]):
            at, wanted = at + 1, wanted + 1
        elif star_at is None:
            return False
        else:
            resume += 1
            at, wanted = resume, star_at + 1
    return all(item == star for item in pattern[wanted:])


def _read_segment(text: str) -> Segment:
    """Parse one segment of a claim, with brackets both as sets and literally."""
    tokens: list[Token] = []
    end = 0
    for found in _CLASS.finditer(text):
        tokens.extend(text[end : found.start()])
        tokens.append(CharSet(_members(found[2]), negated=bool(found[1])))
        end = found.end()
    # A range that ends before it begins is empty, so that reading matches no name.
    if not end or CharSet(frozenset(), negated=False) in tokens:
        return (text,)
    return (text, (*tokens, *text[end:]))


def _members(body: str) -> frozenset[str]:
    return frozenset(
        chr(code) for low, high in _bounds(body) for code in range(ord(low), ord(high) + 1)
    )


def _bounds(body: str) -> Iterator[tuple[str, str]]:
    """Split the text inside brackets into ranges; a single character is a range."""
    for low, high, single in _RANGE.findall(body):
        yield (single, single) if single else (low, high)


def _widest_range(segment: str) -> int:
    bounds = (pair for found in _CLASS.finditer(segment) for pair in _bounds(found[2]))
    return max((ord(high) - ord(low) + 1 for low, high in bounds), default=0)


def _literal(segment: str) -> Segment:
    """Escape a concrete segment so that a star in a file's name is not read as a glob."""
    if _STAR in segment or _ONE in segment:
        return (tuple(CharSet(frozenset(c), negated=False) for c in segment),)
    return (segment,)


def _fold_tokens(tokens: Tokens) -> Tokens:
    if isinstance(tokens, str):
        return _fold(tokens)
    return tuple(_fold(t) if isinstance(t, str) else _fold_set(t) for t in tokens)


def _fold(text: str) -> str:
    """Fold case without changing the length, so that `?` keeps its meaning."""
    folded = text.casefold()
    if len(folded) == len(text):
        return folded
    return "".join(c if len(folded := c.casefold()) > 1 else folded for c in text)


def _fold_set(token: CharSet) -> CharSet:
    """Fold a set without losing a character: only characters without case stay excluded."""
    if token.negated:
        return CharSet(frozenset(c for c in token.chars if c.lower() == c.upper()), negated=True)
    return CharSet(frozenset(_fold(c) for c in token.chars), negated=False)


def _is_git(segment: str) -> bool:
    return segment.casefold() == ".git"
