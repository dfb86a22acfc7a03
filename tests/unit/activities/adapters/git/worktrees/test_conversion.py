"""Files are stored as `git add` stores them, and checked out as git checks them out."""

from pathlib import Path

import pytest

from activities.adapters.git.host_git import GitHostRepository
from activities.ports.user_repository import FastForwardRequest, Landed
from activities.repository.repository_warnings import unfilled, warnings_of
from tests.unit.activities.adapters.git.home import BRANCH, Home, write


async def test_g22_text_is_stored_with_lf_and_the_checkout_stays_clean(home: Home):
    """Field report G22."""
    home.make({".gitattributes": "*.py text\n", "a.py": "a = 1\n"})
    place = await home.start()
    write(place, {"a.py": b"a = 2\r\nb = 3\r\n", "new.py": b"c = 4\r\n"})
    commit = await home.commit_work()
    assert await home.host.read_file(commit, "a.py") == b"a = 2\nb = 3\n"
    assert isinstance(await home.land(commit), Landed)
    request = FastForwardRequest(path=home.path, branch="main", old=home.base, new=commit)
    assert isinstance(await home.user.fast_forward(request), Landed)
    for name in ("a.py", "new.py"):
        (home.path / name).touch()
    assert home.run("status", "--porcelain") == ""


UTF_16 = "wörter\n".encode("utf-16")
CRLF = b"a\r\nb\r\n"
CASES: dict[str, tuple[str, dict[str, str], bytes, bytes]] = {
    "text": ("* text\n", {}, CRLF, b"a\nb\n"),
    "auto": ("* text=auto\n", {}, CRLF, b"a\nb\n"),
    "auto and not text": ("* text=auto\n", {}, b"a\r\n\0", b"a\r\n\0"),
    "eol=crlf": ("* eol=crlf\n", {}, b"a\r\nb\n", b"a\nb\n"),
    "crlf, the old name": ("* crlf\n", {}, CRLF, b"a\nb\n"),
    "binary": ("* text\nnew binary\n", {}, CRLF, CRLF),
    "no attribute": ("other text\n", {}, CRLF, CRLF),
    "autocrlf=input": ("", {"core.autocrlf": "input"}, CRLF, b"a\nb\n"),
    "autocrlf=true": ("", {"core.autocrlf": "true"}, CRLF, b"a\nb\n"),
    "autocrlf=false": ("", {"core.autocrlf": "false"}, CRLF, CRLF),
    "autocrlf and -text": ("* -text\n", {"core.autocrlf": "true"}, CRLF, CRLF),
    "ident": ("* ident\n", {}, b"$Id: 0123 $\n", b"$Id$\n"),
    "UTF-16": ("new working-tree-encoding=UTF-16\n", {}, UTF_16, "wörter\n".encode()),
}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("case", CASES)
async def test_a_file_is_stored_as_git_add_stores_it(home: Home, case: str):
    attributes, settings, written, stored = CASES[case]
    home.make({".gitattributes": attributes, "a": "a\n"})
    for key, value in settings.items():
        home.run("config", key, value)
    place = await home.start()
    for top in (place, home.path):
        write(top, {"new": written})
    commit = await home.commit_work()
    assert await home.host.read_file(commit, "new") == stored
    home.run("add", "new")
    assert home.run("rev-parse", ":new") == home.of_host("rev-parse", f"{commit}:new")
    gate = await home.host.create_worktree("gate", commit)
    (home.path / "new").unlink()
    home.run("checkout", "new")
    if settings.get("core.autocrlf") != "true":
        assert (gate.path / "new").read_bytes() == (home.path / "new").read_bytes()


async def test_attributes_that_only_the_person_has_count(home: Home):
    (home.top / ".config/git").mkdir(parents=True)
    (home.top / ".config/git/attributes").write_text("*.txt text\n*.raw text\n*.md text")
    home.make({".gitattributes": "*.raw -text\n"})
    (home.path / ".git/info").mkdir(exist_ok=True)
    (home.path / ".git/info/attributes").write_text("*.md -text")
    place = await home.start()
    write(place, {"a.txt": CRLF, "a.raw": CRLF, "a.md": CRLF})
    commit = await home.commit_work()
    read = home.host.read_file
    assert [await read(commit, f"a.{end}") for end in ("txt", "raw", "md")] == [
        b"a\nb\n",
        CRLF,
        CRLF,
    ]


FILTERED = [
    ("secrets/** filter=git-crypt diff=git-crypt\n", ""),
    ("[attr]crypt filter=git-crypt\nsecrets/** crypt\n", ""),
    ("", "secrets/** filter=git-crypt\n"),
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("tree", "own"), FILTERED)
async def test_g23_what_a_filter_would_change_is_not_collected(home: Home, tree: str, own: str):
    """Field report G23."""
    home.make({".gitattributes": tree, "secrets/old": b"\0GITCRYPT\0x", "a": "a\n"})
    (home.path / ".git/info").mkdir(exist_ok=True)
    (home.path / ".git/info/attributes").write_text(own)
    facts = await home.user.inspect(home.path, None)
    assert facts.filtered == (("secrets/**", "git-crypt"),)
    said = "files under the filter 'git-crypt' (secrets/**)"
    assert [text.startswith(said) for text in (*warnings_of(facts), *unfilled(facts))] == [True] * 2
    place = await home.start()
    write(place, {"secrets/new": "plain", "secrets/old": "plain", "a": "b\n"})
    collected = await home.collect()
    assert [(f.kind, f.path) for f in collected.findings] == [
        ("filter", "secrets/new"),
        ("filter", "secrets/old"),
    ]
    assert "'git-crypt'" in collected.findings[0].text
    assert [change.path for change in collected.changes] == ["a"]
    (place / "secrets/new").unlink()
    (place / "secrets/old").unlink()
    collected = await home.collect()
    assert (collected.findings, [c.path for c in collected.changes]) == ((), ["secrets/old"])


ENCRYPTED = {"secrets/old": b"\0GITCRYPT\0x", "a": "a\n"}
PATTERN = "secrets/** filter=git-crypt\n"
MACRO = "[attr]crypt filter=git-crypt\nsecrets/** crypt\n"
REMOVED: dict[str, tuple[dict[str, str], dict[str, str | None]]] = {
    "the line is gone": ({".gitattributes": PATTERN}, {".gitattributes": "* text\n"}),
    "the file is gone": ({".gitattributes": PATTERN}, {".gitattributes": None}),
    "unset": ({".gitattributes": PATTERN}, {".gitattributes": PATTERN + "secrets/** -filter\n"}),
    "unspecified": ({".gitattributes": PATTERN}, {".gitattributes": PATTERN + "* !filter\n"}),
    "another filter": ({".gitattributes": PATTERN}, {".gitattributes": "secrets/** filter=lfs\n"}),
    "nested": ({".gitattributes": PATTERN}, {"secrets/.gitattributes": "* -filter\n"}),
    "nested in the base": (
        {"secrets/.gitattributes": "* filter=git-crypt\n.gitattributes !filter\n"},
        {"secrets/.gitattributes": None},
    ),
    "a macro's meaning": ({".gitattributes": MACRO}, {".gitattributes": "[attr]crypt text\n"}),
    "by a macro": (
        {".gitattributes": PATTERN},
        {".gitattributes": f"[attr]plain -filter\n{PATTERN}secrets/** plain\n"},
    ),
    "ignored": (
        {".gitattributes": PATTERN, ".gitignore": ".gitattributes\n"},
        {"secrets/.gitattributes": "* -filter\n"},
    ),
}


def change(place: Path, files: dict[str, str | None]) -> None:
    """Write or delete files."""
    write(place, {name: text for name, text in files.items() if text is not None})
    for name in (name for name, text in files.items() if text is None):
        (place / name).unlink()


@pytest.mark.sampled(5)
@pytest.mark.parametrize("turns", [1, 2])
@pytest.mark.parametrize("case", REMOVED)
async def test_a_filter_of_the_base_counts_although_the_work_removes_it(
    home: Home, case: str, turns: int
):
    attributes, changed = REMOVED[case]
    home.make({**attributes, **ENCRYPTED})
    place = await home.start()
    change(place, changed)
    if turns == 2:
        await home.collect()
        home.host = GitHostRepository(home.git, home.top / "host", "k" * 32)
    write(place, {"secrets/new": "plain", "secrets/old": "plain", "a": "b\n"})
    collected = await home.collect()
    assert {("filter", "secrets/new"), ("filter", "secrets/old")} <= {
        (found.kind, found.path) for found in collected.findings
    }
    stored = {change.path for change in collected.changes}
    assert ("a" in stored, {"secrets/new", "secrets/old"} & stored) == (True, set())


async def test_a_filter_that_only_the_person_has_counts_although_the_work_overrides_it(home: Home):
    (home.top / ".config/git").mkdir(parents=True)
    (home.top / ".config/git/attributes").write_text(PATTERN)
    home.make(ENCRYPTED)
    place = await home.start()
    write(place, {".gitattributes": "* -filter\n", "secrets/new": "plain"})
    assert [found.path for found in (await home.collect()).findings] == ["secrets/new"]


async def test_a_filter_that_the_base_no_longer_has_is_decided(home: Home):
    home.make({".gitattributes": PATTERN, **ENCRYPTED})
    place = await home.start()
    write(place, {".gitattributes": "* text\n"})
    home.base = await home.commit_work()
    merged = (await home.host.create_worktree("t2", home.base)).path
    write(merged, {"secrets/new": "plain"})
    collected = await home.collect("t2")
    assert (collected.findings, [each.path for each in collected.changes]) == ((), ["secrets/new"])


async def test_a_file_that_leaves_the_pattern_is_collected_and_one_that_enters_it_is_not(
    home: Home,
):
    home.make({".gitattributes": PATTERN, **ENCRYPTED})
    place = await home.start()
    (place / "secrets/old").rename(place / "public")
    (place / "a").rename(place / "secrets/a")
    collected = await home.collect()
    assert [found.path for found in collected.findings] == ["secrets/a"]
    assert [each.path for each in collected.changes] == ["a", "public", "secrets/old"]


async def test_lfs_may_be_given_up(home: Home):
    home.make({".gitattributes": "*.bin filter=lfs\n"})
    place = await home.start()
    write(place, {".gitattributes": "* text\n", "a.bin": "plain"})
    assert (await home.collect()).findings == ()


async def test_a_filtered_file_that_is_as_it_was_is_no_finding(home: Home):
    home.make({".gitattributes": "* filter=x\n.gitattributes !filter\n", "a": "a\n"})
    place = await home.start()
    (place / "a").touch()
    assert (await home.collect()).findings == ()


async def test_what_is_not_in_its_encoding_is_found(home: Home):
    home.make({".gitattributes": "*.u working-tree-encoding=UTF-16\n", "a.u": UTF_16})
    place = await home.start()
    assert (place / "a.u").read_bytes() == UTF_16
    write(place, {"a.u": "plain", "new.u": b"\xff", "b": "x"})
    collected = await home.collect()
    assert [(f.kind, f.path) for f in collected.findings] == [
        ("encoding", "a.u"),
        ("encoding", "new.u"),
    ]
    assert [change.path for change in collected.changes] == ["b"]


def odd(home: Home) -> None:
    """Make a base with files that git would store otherwise than they are."""
    home.make({"a.txt": CRLF, "b.txt": CRLF, "c.txt": "c\n"})
    (home.path / ".gitattributes").write_text("*.txt text\n")
    home.run("add", ".gitattributes")
    home.run("commit", "-q", "-m", "attributes")
    home.base = type(home.base)(home.run("rev-parse", "HEAD"))


async def test_what_was_never_normalised_is_left_as_it_is(home: Home):
    odd(home)
    place = await home.start()
    (place / "a.txt").touch()
    (place / "c.txt").write_text("more\n")
    assert [change.path for change in (await home.collect()).changes] == ["c.txt"]
    async with home.host.lock("t1"):
        await home.host.restore("t1", home.base)
    assert ((place / "a.txt").read_bytes(), (place / "c.txt").read_text()) == (CRLF, "c\n")
    write(place, {"b.txt": b"b\r\n"})
    commit = await home.commit_work()
    assert await home.host.read_file(commit, "b.txt") == b"b\n"
    assert await home.host.read_file(commit, "a.txt") == CRLF


async def test_files_follow_the_attributes_of_the_commit_that_is_restored(home: Home):
    home.make({"a.bat": "a\n", "d/b.bat": "b\n", "c.txt": "c\n"})
    place = await home.start()
    write(place, {".gitattributes": "*.bat eol=crlf\n", "c.txt": "changed\n"})
    commit = await home.commit_work()

    def seen() -> list[bytes]:
        return [(place / name).read_bytes() for name in ("a.bat", "d/b.bat", "c.txt")]

    async with home.host.lock("t1"):
        await home.host.restore("t1", home.base)
        assert seen() == [b"a\n", b"b\n", b"c\n"]
        await home.host.restore("t1", commit)
        assert seen() == [b"a\r\n", b"b\r\n", b"changed\n"]
        write(place, {"d/.gitattributes": "* -text\n", "d/b.bat": "x", "a.bat": "x"})
        await home.host.restore("t1", home.base)
        assert seen() == [b"a\n", b"b\n", b"c\n"]
    assert not (place / "d/.gitattributes").exists()


async def test_the_first_collection_after_a_landing_finds_nothing(home: Home, tmp_path: Path):
    home.make({".gitattributes": "* text=auto eol=crlf\n", "a": "a\n"})
    place = await home.start()
    assert (place / "a").read_bytes() == b"a\r\n"
    write(place, {"a": b"a\r\nb\n"})
    commit = await home.commit_work()
    await home.land(commit)
    assert home.run("show", f"{BRANCH}:a") == "a\nb"
    other = await home.host.create_worktree("t2", commit)
    (other.path / "a").touch()
    assert (await home.collect("t2")).changes == ()
