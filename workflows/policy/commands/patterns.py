"""Whether a command matches a pattern such as `git log *`.

Each of the two questions errs to its safe side: `must_fit` for an allow-list (certainly this, word
for word), `may_fit` for a deny-list (this cannot be excluded; options before a word are skipped).
"""

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache

from workflows.domain.agent.shell_tree import Word

_REST = "*"


def pattern_fault(pattern: str) -> str | None:
    """Say why a pattern is invalid; None for a valid one."""
    words = pattern.split()
    if not words:
        return "it is empty: name a program, as in 'git log *'"
    if any(each in pattern for each in "'\"\\;|&<>$`\n"):
        return "it holds shell syntax: write plain words, with * and ? where any text may stand"
    return None


def must_fit(words: Sequence[Word], pattern: str) -> bool:
    """Tell whether a command certainly matches a pattern.

    Args:
        words: the program first.
        pattern: passed `pattern_fault`.
    """
    wanted = _split(pattern)
    has_rest = wanted[-1] == _REST
    wanted = wanted[:-1] if has_rest else wanted
    if len(words) < len(wanted) or (len(words) > len(wanted) and not has_rest):
        return False
    firsts = zip(words, wanted, strict=False)
    return all(word.is_known and fnmatchcase(word.text, want) for word, want in firsts)


def may_fit(words: Sequence[Word], pattern: str) -> bool:
    """Tell whether a command could match a pattern.

    Options before a word of the pattern are skipped, as are their possible values. An unknown word
    may be any word; a word that may expand to several counts as any number of them. A pattern's own
    options may stand anywhere.

    Args:
        words: the program first, without its folder.
        pattern: passed `pattern_fault`, or is built in.
    """
    wanted, options = _parts(pattern)
    for option in options:
        if not any(_may_be(word, option) for word in words):
            return False
    return _reach(words, wanted)


def _reach(words: Sequence[Word], wanted: tuple[str, ...]) -> bool:
    """Step through the words, keeping every possible count of matched pattern words."""
    end = len(wanted)
    if len(words) < end and all(word.is_known for word in words):
        return len(words) == end - 1 and wanted[-1] == _REST and _reach(words, wanted[:-1])
    matched = {0}
    may_be_value = False
    for word in words:
        is_option = word.text.startswith("-")
        is_skipped = is_option or may_be_value
        matched = {after for count in matched for after in _after(word, count, wanted, is_skipped)}
        if any(_is_end(count, wanted) for count in matched):
            return True
        if not matched:
            return False
        may_be_value = is_option and "=" not in word.text
    return False


def _after(
    word: Word,
    count: int,
    wanted: tuple[str, ...],
    is_skipped: bool,  # noqa: FBT001 (see _reach)
) -> Iterator[int]:
    """Return how many pattern words may be matched after one more word."""
    if count < len(wanted) and _may_be(word, wanted[count]):
        yield count + 1
    if count and is_skipped:
        yield count
    if word.is_many:
        yield from range(count, len(wanted) + 1)


def _is_end(count: int, wanted: tuple[str, ...]) -> bool:
    return count == len(wanted) or (count > 0 and wanted[count:] == (_REST,))


def _may_be(word: Word, want: str) -> bool:
    if word.is_known:
        return word.text == want or (_is_wild(want) and fnmatchcase(word.text, want))
    head, _, _ = word.text.partition("\0")
    if word.is_glob:
        head = head[: min((head.find(c) for c in "*?[" if c in head), default=len(head))]
    shared = min(len(head), len(want))
    return _is_wild(want) or head[:shared] == want[:shared]


def _is_wild(want: str) -> bool:
    return "*" in want or "?" in want or "[" in want


@lru_cache(maxsize=1_024)
def _parts(pattern: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Separate a pattern's words from its options."""
    words = _split(pattern)
    plain = tuple(word for word in words if not word.startswith("-"))
    return plain, tuple(word for word in words if word.startswith("-"))


@lru_cache(maxsize=1_024)
def _split(pattern: str) -> tuple[str, ...]:
    return tuple(pattern.split())
