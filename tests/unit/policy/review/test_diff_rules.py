"""The check of a collected diff: its table, and what holds for any diff."""

from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workflows.domain.violation import DiffLimits, DiffRule, Violation
from workflows.policy.commands.protection import denies
from workflows.policy.plan.claims import is_claimed
from workflows.policy.review.diff_rules import (
    AddedLines,
    ChangedFile,
    judge_files,
    judge_filtered,
    judge_lines,
    told,
)

pytestmark = pytest.mark.fuzz

LIMITS = DiffLimits(changed_files=3, file_bytes=100, changed_bytes=200)


def change(path: str, **facts: object) -> ChangedFile:
    usual: dict[str, object] = {"old_mode": None, "mode": "100644", "size": 1, "is_binary": False}
    return ChangedFile(**{"path": path, "status": "added", **usual, **facts})  # pyright: ignore[reportArgumentType] -- usual facts


def rules(
    *changes: ChangedFile, claims: tuple[str, ...] = ("**",), others: tuple[str, ...] = ()
) -> list[tuple[str, str | None]]:
    paths = [*others, *(each.path for each in changes if each.status != "deleted")]
    judged = judge_files(changes, paths, claims, lambda path: denies(path, claims), LIMITS)
    return [(each.rule.value, each.path) for each in judged.violations]


@pytest.mark.parametrize(
    ("one", "rule"),
    [
        (change("src/a.py"), None),
        (change("b/a.py"), "write"),
        (change("src/uv.lock", status="deleted", mode=None, old_mode="100644"), None),
        (change(".github/workflows/ci.yml"), "write"),
        (change("src/a.bin", is_binary=True), None),
        (change("src/sub", mode="160000"), "submodule"),
        (change("src/big", size=101), "file-size"),
        (change("src/a.py", status="modified", old_mode="100644", mode="100755"), None),
    ],
)
def test_one_change(one: ChangedFile, rule: str | None):
    expected = [] if rule is None else [(rule, one.path)]
    assert rules(one, claims=("src/**",)) == expected


@pytest.mark.parametrize(
    ("one", "claims", "is_found"),
    [
        (change("json.py"), ("**",), True),
        (change("json.py"), ("*.py",), True),
        (change("json.py"), ("json.py",), False),
        (change("json.py", status="modified", old_mode="100644"), ("**",), False),
        (change("json", mode="120000"), ("**",), True),
        (change("node_modules", mode="120000"), ("**",), True),
        (change("tests/conftest.py"), ("**",), True),
        (change("tests/conftest.py"), ("tests/**",), False),
        (change("big.pth", is_binary=True), ("*.pth",), False),
        (change("web/.npmrc"), ("web/**",), True),
    ],
)
def test_g34_what_a_gates_tool_loads_at_its_start_is_added_only_by_name(
    one: ChangedFile, claims: tuple[str, ...], is_found: bool
):
    assert rules(one, claims=claims) == ([("loaded", one.path)] if is_found else [])


def test_a_binary_needs_a_claim_that_says_more_than_everything():
    one = change("logo.png", is_binary=True)
    assert rules(one, claims=("**",)) == [("binary", "logo.png")]
    assert rules(one, claims=("**", "*.png")) == []
    gone = change("logo.png", is_binary=True, status="deleted", mode=None)
    assert rules(gone) == []


def test_number_and_sum_are_limited():
    assert rules(*(change(f"f{n}") for n in range(4))) == [("file-count", None)]
    assert rules(*(change(f"f{n}", size=80) for n in range(3))) == [("diff-size", None)]


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("readme.md", "README.md"),
        ("Docs/b", "docs/a"),
        ("caf\u00e9", "cafe\u0301"),
        ("cafe\u0301/x", "caf\u00e9/y"),
        ("stra\u00dfe", "STRASSE"),
        ("\u212a", "k"),
    ],
)
def test_two_spellings_of_one_name_collide(new: str, old: str):
    assert rules(change(new), others=(old,)) == [("collision", new)]
    assert rules(change(old), change(new)) == [("collision", old), ("collision", new)]


def test_g28_two_unicode_forms_of_a_name_are_written_out():
    """Field report G28."""
    new, old = change("cafe\u0301.md"), change("caf\u00e9.md")
    paths = [old.path, new.path]
    (found,) = judge_files([new], paths, ("**",), lambda path: None, LIMITS).violations
    assert found.text.startswith(r"'cafe\u0301.md' and 'caf\xe9.md' are one name")


def test_a_collision_in_the_base_is_not_a_finding():
    assert rules(change("c"), others=("A", "a")) == []


def test_a_rename_that_changes_only_case_is_not_a_collision():
    gone = change("README", status="deleted", mode=None, old_mode="100644")
    assert rules(gone, change("readme")) == []


def test_changes_of_modes_are_shown():
    changes = [
        change("a", status="modified", old_mode="100644", mode="100755"),
        change("b", mode="100755"),
        change("c", status="modified", old_mode="100644"),
    ]
    judged = judge_files(changes, ["a", "b", "c"], ("**",), lambda _: None, LIMITS)
    assert judged.violations == ()
    assert judged.notices == ("a: mode 100644 is now 100755", "b: new, and executable")


KEYS = {
    "a private key": b"-----BEGIN OPENSSH " + b"PRIVATE KEY-----",
    "an AWS key id": b"AKIA" + b"ABCDEFGHIJKLMNOP",
    "an Anthropic key": b"sk-ant-" + b"a" * 24,
    "a GitHub token": b"ghp_" + b"a" * 36,
    "a GitLab token": b"glpat-" + b"a" * 20,
    "a Slack token": b"xoxb-" + b"1" * 12,
    "a Stripe key": b"sk_live_" + b"a" * 24,
    "a PyPI token": b"pypi-AgEI" + b"a" * 24,
    "a Hugging Face token": b"hf_" + b"a" * 34,
    "a Vault token": b"hvs." + b"a" * 24,
}


@pytest.mark.parametrize(("kind", "key"), KEYS.items())
def test_a_key_is_found_with_its_line_and_never_quoted(kind: str, key: bytes):
    lines = AddedLines("src/a.py", 7, b"x = 1\n\ny = '" + key + b"'")
    (found,) = judge_lines([lines], ())
    assert (found.rule, found.path, found.line) == (DiffRule.SECRET, "src/a.py", 9)
    assert kind in found.text
    assert key.decode() not in found.text
    assert judge_lines([lines], ("src",)) == ()
    assert judge_lines([lines], ("src/b.py",)) == (found,)


def test_utf_16_hides_no_key():
    text = KEYS["a GitHub token"].decode().encode("utf-16-le")
    assert len(judge_lines([AddedLines("a", 1, text)], ())) == 1


def test_a_nul_byte_hides_no_key():
    text = b"x\nword\0" + KEYS["a GitHub token"]
    assert [each.line for each in judge_lines([AddedLines("a", 1, text)], ())] == [2]


def test_findings_have_a_position_and_are_limited():
    many = [Violation(rule=DiffRule.SECRET, path="a", line=n, text="x") for n in range(1, 33)]
    assert told(many)[0] == "a:1: x"
    assert told(many)[30:] == ("and 2 more findings",)
    assert told([Violation(rule=DiffRule.EMPTY, text="nothing was changed")]) == (
        "nothing was changed",
    )


NAMES = st.text("abAB\u00e9e\u0301\u00df/._-", min_size=1, max_size=8).filter(
    lambda name: not name.startswith("/") and "//" not in name and not name.endswith("/")
)
CHANGES = st.builds(
    change,
    NAMES,
    status=st.sampled_from(["added", "modified"]),
    old_mode=st.sampled_from(["100644", "100755"]),
    mode=st.sampled_from(["100644", "100755", "120000", "160000"]),
    size=st.integers(0, 250),
    is_binary=st.booleans(),
)


@given(st.lists(CHANGES, max_size=6, unique_by=lambda each: each.path), st.lists(NAMES, max_size=4))
def test_what_passes_keeps_every_rule(changes: list[ChangedFile], others: list[str]):
    claims = ("a/**", "*")
    paths = sorted({*others, *(each.path for each in changes)})
    judged = judge_files(changes, paths, claims, lambda path: denies(path, claims), LIMITS)
    if judged.violations:
        return
    assert len(changes) <= LIMITS.changed_files
    assert sum(each.size for each in changes) <= LIMITS.changed_bytes
    for each in changes:
        assert is_claimed(each.path, claims)
        assert each.mode != "160000"
        assert each.size <= LIMITS.file_bytes
        if each.status == "added":
            same = {path for path in paths if alike(path) == alike(each.path)}
            assert same == {each.path}


@given(st.lists(CHANGES, max_size=6, unique_by=lambda each: each.path))
def test_judging_does_not_depend_on_order(changes: list[ChangedFile]):
    paths = [each.path for each in changes]
    first = judge_files(changes, paths, ("**",), lambda _: None, LIMITS)
    second = judge_files(changes[::-1], paths[::-1], ("**",), lambda _: None, LIMITS)
    assert sorted(map(repr, first.violations)) == sorted(map(repr, second.violations))


@given(st.lists(NAMES, min_size=1, max_size=6, unique=True))
def test_names_collide_exactly_where_a_folding_file_system_says_so(names: list[str]):
    found = {
        path
        for rule, path in rules(*map(change, names[:3]), others=tuple(names[3:]))
        if rule == "collision"
    }
    spelled = {part for name in names for part in prefixes(name)}
    expected = {
        name
        for name in names[:3]
        if any(alike(a) == alike(b) and a != b for a in prefixes(name) for b in spelled)
    }
    assert found == expected


@given(st.binary(max_size=60), st.sampled_from(sorted(KEYS)), st.integers(1, 9), st.integers(0, 5))
def test_a_key_is_found_in_any_line(before: bytes, kind: str, start: int, lines: int):
    text = b"\n" * lines + b"# " + KEYS[kind] + b"\n" + before
    found = judge_lines([AddedLines("a", start, text)], ())
    assert start + lines in {each.line for each in found}


def prefixes(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[: n + 1]) for n in range(len(parts))]


def alike(name: str) -> str:
    return normalize("NFC", normalize("NFD", name).casefold())


def test_a_file_that_belongs_to_a_filter_is_found_once():
    found = judge_filtered((("secrets/a", "git-crypt"), ("secrets/b", "git-crypt")), {"secrets/a"})
    assert [(each.rule, each.path) for each in found] == [(DiffRule.FILTER, "secrets/b")]
    assert "'git-crypt'" in found[0].text
    assert "`.gitattributes`" in found[0].text
