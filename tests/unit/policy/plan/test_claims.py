"""Claims: the faults, the automaton, and that `overlap` never misses a path claimed by both."""

import re
from unicodedata import normalize

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from workflows.policy.plan.claims import claim_fault, is_claimed, overlap

pytestmark = pytest.mark.fuzz


@pytest.mark.parametrize(
    "claim",
    [
        "src",
        "src/",
        "src/**",
        "**",
        "**/*.py",
        "a/b.py",
        "a/[!b-d]?.py",
        "app/[id]/page.tsx",
        "ü/x",
    ],
)
def test_a_good_claim_has_no_fault(claim: str):
    assert claim_fault(claim) is None


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        ("", "empty"),
        ("  ", "empty"),
        ("x" * 201, "longer"),
        ("a\x07", "invisible"),
        ("a\u202eb", "invisible"),
        ("a\ud83d", "invisible"),
        ("a\u3164b", "invisible"),
        (normalize("NFD", "é"), "normal form"),
        ("a\\b", "backslash"),
        ("/etc/**", "absolute"),
        ("C:/x", "absolute"),
        ("~/x", "absolute"),
        ("!src", "exclude"),
        ("src/{a,b}.py", "braces"),
        ("a//b", "empty segment"),
        ("a//", "empty segment"),
        ("./a", "segment . or .."),
        ("../**", "segment . or .."),
        ("a/../b", "segment . or .."),
        (".git/config", ".git"),
        ("sub/.GIT", ".git"),
        ("[a-\uffff]", "range"),
        ("a**", "stand alone"),
        ("a/b**/c", "stand alone"),
    ],
)
def test_a_bad_claim_is_refused_in_words(claim: str, words: str):
    fault = claim_fault(claim)
    assert fault is not None
    assert words in fault


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("src", "src/a.py"),
        ("src/", "src"),
        ("src/*.py", "src/a?.py"),
        ("A/x", "a/X"),
        ("STRASSE", "strasse/x"),
        ("**", "x"),
        ("**/t", "src/deep/t"),
        ("src/**/t", "src/t/x"),
        ("src/**/a.py", "src/**/b/*.py"),
        ("a*b*c", "aXXbYYc"),
        ("*a*", "*b*"),
        ("a/[0-9]", "a/5"),
        ("a/[!0-9]", "a/x"),
        ("a/[!ab]", "a/[!cd]"),
        ("a/[a-c]", "a/[c-e]"),
        ("a/[a-c]", "a/[!ab]"),
        ("a/[!ab]", "a/[a-c]"),
        ("a/[A-C]", "a/b"),
        ("a/[!A]", "a/a"),
        ("a/[]x]", "a/]"),
        ("a/[a-]", "a/-"),
        ("app/[id]/x", "app/[id]"),
        ("app/[id]/x", "app/i/x"),
        ("app/[[...slug]]/p.tsx", "app/[[...slug]]"),
        ("a/?", "a/[0-9]"),
        ("a/b[", "a/b["),
        ("a*b", "*a*b*"),
        ("x/*aab*", "x/aaaab"),
        ("x/*a?b*", "x/aa[ab]bc"),
        ("**/a/**/b", "**/b/**/a"),
        ("**/a/b", "a/**/b"),
    ],
)
def test_overlapping(a: str, b: str):
    assert overlap([a], [b])
    assert overlap([b], [a])


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("src", "srcs"),
        ("src/a.py", "src/b.py"),
        ("src/*.py", "src/*.md"),
        ("src/a*", "src/b*"),
        ("src/a?", "src/a"),
        ("a/[0-9]", "a/x"),
        ("a/[!0-9]", "a/5"),
        ("a/[!0-9]", "a/[3-5]"),
        ("a/[a-c]", "a/[d-f]"),
        ("a/x/**", "a/y/**"),
        ("*/x", "*/y"),
        ("a/*b", "a/*c"),
        ("x/[abc]", "x/[ab"),
        ("x/[z-a]b", "x/ab"),
        ("x/*[z-a]b", "x/ab"),
        ("x/a*b*c", "x/acb"),
        ("x/*ab*ab", "x/ab"),
    ],
)
def test_not_overlapping(a: str, b: str):
    assert not overlap([a], [b])
    assert not overlap([b], [a])


def test_any_pair_of_claims_decides():
    assert overlap(["a", "b"], ["c", "b/x"])
    assert not overlap(["a", "b"], ["c", "d"])
    assert not overlap([], ["**"])


@pytest.mark.parametrize(
    ("path", "claim", "expected"),
    [
        ("src/a.py", "src", True),
        ("src/a.py", "src/*.py", True),
        ("src/A.py", "src/a.py", False),
        ("src/x/a.py", "src/*.py", False),
        ("src/x/a.py", "src/**/*.py", True),
        ("src/a.py", "src/**/*.py", True),
        ("src/*", "src/a.py", False),
        ("src/?", "src/a", False),
        ("**", "a", False),
        ("src/*", "src/*", True),
        ("app/[id]/p", "app/[id]", True),
        ("app/i/p", "app/[id]", True),
        ("app/x/p", "app/[id]", False),
        (normalize("NFD", "é.py"), "é.py", True),
        (".git/config", "**", False),
        ("a/.Git/config", "**", False),
        ("../a", "**", False),
        ("/a", "**", False),
        ("a//b", "**", False),
        ("", "**", False),
    ],
)
def test_is_claimed(path: str, claim: str, expected: bool):
    assert is_claimed(path, ["no/such", claim]) is expected


LETTERS = "aAbZ.1ßkK\u017f\u0131\u0130\u212a"
segments = st.one_of(
    st.just("**"),
    st.lists(
        st.one_of(
            st.sampled_from([*LETTERS, "*", "?"]),
            st.builds(
                "[{}{}]".format,
                st.sampled_from(["", "!"]),
                st.text(LETTERS, min_size=1, max_size=3),
            ),
            st.sampled_from(["[a-c]", "[A-Z]", "[!0-9]", "["]),
        ),
        min_size=1,
        max_size=4,
    ).map("".join),
)
claims = (
    st.lists(segments, min_size=1, max_size=4).map("/".join).filter(lambda c: not claim_fault(c))
)


@st.composite
def paths_of(draw: st.DrawFn, claim: str) -> str:
    """A concrete path that a claim covers, made from its own segments."""
    parts: list[str] = []
    for segment in claim.split("/"):
        if segment == "**":
            parts += draw(st.lists(st.text(LETTERS, min_size=1, max_size=2), max_size=2))
        else:
            parts.append(draw(_texts_of(segment)))
    parts += draw(st.lists(st.text(LETTERS, min_size=1, max_size=2), max_size=1))
    path = "/".join(parts)
    assume(is_claimed(path, [claim]))
    return path


@st.composite
def _texts_of(draw: st.DrawFn, segment: str) -> str:
    text = ""
    for piece in re.findall(r"\[!?[^\]]+\]|.", segment):
        if piece == "*":
            text += draw(st.text(LETTERS, max_size=2))
        elif len(piece) > 1 or piece == "?":
            text += draw(st.sampled_from(LETTERS))
        else:
            text += piece
    return text


@given(data=st.data(), a=claims, b=claims)
@example(data=None, a="ß", b="?")
def test_a_path_claimed_by_both_means_overlap(data: st.DataObject | None, a: str, b: str):
    path = data.draw(paths_of(a)) if data else "ß"
    if is_claimed(path, [b]):
        assert overlap([a], [b])


@given(a=st.lists(claims, max_size=3), b=st.lists(claims, max_size=3))
def test_overlap_is_symmetric(a: list[str], b: list[str]):
    assert overlap(a, b) is overlap(b, a)


@given(a=claims)
def test_a_claim_overlaps_itself_whatever_its_case(a: str):
    other = a.swapcase()
    assume(other.casefold() == a.casefold() and len(other) == len(a))
    assert overlap([a], [other])


def _meet(a: str, b: str) -> bool:
    """Search all ways in which two segments of letters, `*` and `?` could both be one text."""
    if not a or not b:
        return set(a + b) <= {"*"}
    if a[0] == "*":
        return _meet(a[1:], b) or _meet(a, b[1:])
    if b[0] == "*":
        return _meet(b, a)
    return (a[0] == b[0] or "?" in (a[0], b[0])) and _meet(a[1:], b[1:])


@given(a=st.text("ab*?", min_size=1, max_size=6), b=st.text("ab*?", min_size=1, max_size=6))
def test_overlap_agrees_with_a_search_of_all_ways(a: str, b: str):
    assume("**" not in a and "**" not in b)
    assert overlap([a], [b]) is _meet(a, b)


_SEGMENTS = st.sampled_from(["**", "a", "b", "a*", "*b", "ab"])


def _paths_meet(a: tuple[str, ...], b: tuple[str, ...]) -> bool:
    """The same for whole paths, each claim with what is below it."""
    if not a or not b:
        return set(a + b) <= {"**"}
    if a[0] == "**":
        return _paths_meet(a[1:], b) or _paths_meet(a, b[1:])
    if b[0] == "**":
        return _paths_meet(b, a)
    return _meet(a[0], b[0]) and _paths_meet(a[1:], b[1:])


@given(
    a=st.lists(_SEGMENTS, min_size=1, max_size=5).map(tuple),
    b=st.lists(_SEGMENTS, min_size=1, max_size=5).map(tuple),
)
def test_overlap_of_paths_agrees_with_a_search_of_all_ways(a: tuple[str, ...], b: tuple[str, ...]):
    assert overlap(["/".join(a)], ["/".join(b)]) is _paths_meet((*a, "**"), (*b, "**"))


_CLASSES = {"*": "[^/]*", "?": "[^/]"}


def _as_regex(claim: str) -> re.Pattern[str]:
    """The same language by other means, for claims without brackets."""
    parts = ["(?:[^/]+/)*" if s == "**" else _segment_regex(s) + "/" for s in claim.split("/")]
    return re.compile("".join(parts) + "(?:[^/]+/)*")


def _segment_regex(segment: str) -> str:
    return "".join(_CLASSES.get(c, re.escape(c)) for c in segment)


@given(
    claim=st.lists(st.one_of(st.just("**"), st.text("ab*?", min_size=1, max_size=4)), min_size=1)
    .map("/".join)
    .filter(lambda c: not claim_fault(c)),
    path=st.lists(st.text("ab", min_size=1, max_size=4), min_size=1, max_size=5).map("/".join),
)
def test_is_claimed_agrees_with_a_regular_expression(claim: str, path: str):
    assert is_claimed(path, [claim]) is bool(_as_regex(claim).fullmatch(path + "/"))


PATHLIKE = st.text(
    st.sampled_from("ab.A/*?[]!-{,}\\ ~:\u00e9e\u0301\u200b\ud800\0git"), max_size=12
)


@given(claim=st.text() | PATHLIKE, path=st.text() | PATHLIKE)
@example(claim=".g\u0130t", path=".g\u0130t")
def test_any_claim_is_refused_or_decides_about_any_path(claim: str, path: str):
    if claim_fault(claim):
        return
    assert overlap([claim], [claim])
    if is_claimed(path, [claim]):
        assert not {"", ".", "..", ".git"} & set(path.casefold().split("/"))
        assert is_claimed(f"{path}/below", [claim])
        assert is_claimed(path, ["**"])
        assert overlap([claim], ["**"])
