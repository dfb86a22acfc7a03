"""Small repositories of every kind, and edits: what arrives is what `git add` would have stored."""

import os
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.ports.merge_values import Merged, MergePart
from activities.ports.user_repository import FastForwardRequest
from tests.effort import examples
from tests.unit.activities.adapters.git.home import BRANCH, WHEN, Home, plain_git, write
from workflows.domain.ids import Commit

pytestmark = pytest.mark.fuzz

NAMES = (
    "a.txt",
    "b.bin",
    "d/a.txt",
    "d/e/\u00fcb.txt",
    "two  words",
    "-dash",
    'quo"te\\',
    "run.sh",
)
WIDE = "w.utf16"
"""Always in the encoding that its attribute names."""
PATTERNS = ("*", "*.txt", "*.bin", "d/**", "a.txt", "run.sh")
ATTRIBUTES = (
    *(
        "text",
        "text=auto",
        "-text",
        "!text",
        "eol=crlf",
        "eol=lf",
        "text eol=crlf",
        "crlf",
        "-crlf",
    ),
    *("ident", "binary", "text=auto eol=crlf", "filter=lfs", "filter=crypt"),
)
CONTENTS = (
    *(b"", b"one\n", b"one\ntwo", b"one\r\ntwo\r\n", b"one\r\ntwo\n", b"\r", b"a\0b\r\n"),
    *(b"$Id$\n", b"$Id: 0123 $\r\n", "\u00e4\r\n".encode(), b"\xe4\r\n\xff"),
)
SETTINGS: tuple[dict[str, str], ...] = (
    *({}, {"core.autocrlf": "true"}, {"core.autocrlf": "input"}, {"core.eol": "crlf"}),
    *({"core.fileMode": "false"}, {"core.ignoreCase": "true"}, {"core.safecrlf": "warn"}),
)
LINES = st.lists(
    st.tuples(st.sampled_from(PATTERNS), st.sampled_from(ATTRIBUTES)).map(" ".join), max_size=3
).map(lambda lines: "".join(f"{line}\n" for line in lines))
CONTENT = st.sampled_from(CONTENTS)
EDITS = st.one_of(
    st.tuples(st.just("write"), st.sampled_from(NAMES), CONTENT),
    st.tuples(st.sampled_from(["chmod", "unlink", "link"]), st.sampled_from(NAMES), CONTENT),
    st.tuples(st.just("rename"), st.sampled_from(NAMES), CONTENT),
    st.tuples(st.just("write"), st.just(".gitattributes"), LINES.map(str.encode)),
    st.tuples(
        st.just("write"), st.just(WIDE), st.sampled_from(["x\r\n", "\u00e4\n"]).map(
            lambda text: text.encode("utf-16-le")
        )
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Made:
    """A repository, as it is made."""

    files: dict[str, bytes]
    executable: tuple[str, ...]
    root: str
    deep: str
    own: str
    """Attributes: in the root, in `d`, and in the repository's own file."""
    settings: dict[str, str]
    is_sparse: bool


REPOSITORIES = st.builds(
    Made,
    files=st.dictionaries(st.sampled_from(NAMES), CONTENT, max_size=5),
    executable=st.lists(st.sampled_from(NAMES), max_size=2, unique=True).map(tuple),
    root=LINES,
    deep=LINES,
    own=LINES,
    settings=st.sampled_from(SETTINGS),
    is_sparse=st.booleans(),
)
FIXED = f"{WIDE} working-tree-encoding=UTF-16LE -text !eol !ident !filter\nkept -text !filter\n"
"""Attributes that none of the others change."""


def make(home: Home, made: Made) -> None:
    """Make the person's repository."""
    home.path.mkdir()
    home.run("init", "-q", "-b", "main")
    configure(home.path, made)
    write(home.path, {**made.files, ".gitattributes": made.root, "kept": "kept\n"})
    write(home.path, {"d/.gitattributes": made.deep} if made.deep else {})
    for name in set(made.executable) & made.files.keys():
        (home.path / name).chmod(0o755)
    home.commit({})
    if made.is_sparse:
        home.run("sparse-checkout", "set", "--no-cone", "/*", "!/d/")


def configure(path: Path, made: Made) -> None:
    """Set what no commit holds."""
    for key, value in made.settings.items():
        plain_git(path, "config", key, value)
    write(path / ".git", {"info/attributes": made.own + FIXED})


def checked_out(home: Home, made: Made) -> Path:
    """Return another checkout of the base, for `git add`."""
    path = home.top / "other"
    plain_git(home.top, "clone", "-q", "--no-checkout", str(home.path), str(path))
    configure(path, made)
    plain_git(path, "checkout", "-q", "main")
    return path


def edit(top: Path, how: str, name: str, content: bytes) -> None:
    """Do what an agent may do to one file."""
    place = top / name
    is_there = os.path.lexists(place)
    if how == "chmod" and is_there and not place.is_symlink():
        place.chmod(0o755 ^ (place.stat().st_mode & 0o111))
    elif how == "rename" and is_there:
        place.rename(top / f"{place.name}.moved")
    elif how in ("unlink", "link", "write"):
        place.parent.mkdir(parents=True, exist_ok=True)
        place.unlink(missing_ok=True)
        if how == "write":
            place.write_bytes(content)
        elif how == "link":
            place.symlink_to("kept")


def entries(where: Path, *asked: str) -> dict[str, tuple[str, str]]:
    """Return mode and blob by path."""
    found: dict[str, tuple[str, str]] = {}
    for record in plain_git(where, *asked).split("\0"):
        head, _, path = record.partition("\t")
        if path:
            mode, *_, blob = head.removesuffix(" 0").split(" ")
            found[path] = (mode, blob)
    return found


@examples(6)
@given(made=REPOSITORIES, edits=st.lists(EDITS, min_size=1, max_size=5))
async def test_what_arrives_is_what_git_add_would_have_stored(
    tmp_path_factory: pytest.TempPathFactory, made: Made, edits: list[tuple[str, str, bytes]]
):
    home = Home(tmp_path_factory.mktemp("means"))
    make(home, made)
    place, other = await home.start(), checked_out(home, made)
    before = entries(home.path, "ls-tree", "-r", "-z", "HEAD")
    for top in (place, other):
        for each in edits:
            edit(top, *each)
    collected = await home.collect()
    found = {finding.path for finding in collected.findings}
    assert {finding.kind for finding in collected.findings} <= {"lfs", "filter"}
    asked = ["add", "-A", "-f", "."]
    plain_git(other, *asked)
    expected = entries(other, "ls-files", "-s", "-z")
    stored = entries(other.parent / f"host/repositories/{'k' * 32}.git", "ls-tree", "-r", "-z",
                     collected.tree)  # fmt: skip
    for path in {*expected, *stored}:
        wanted = before.get(path) if path in found else expected.get(path)
        if wanted and "core.fileMode" in made.settings and path in stored:
            wanted = (stored[path][0], wanted[1])
        assert stored.get(path) == wanted, path
    await arrives(home, await home.commit_work(), {path for path in stored if path not in found})


async def arrives(home: Home, work: Commit, paths: set[str]) -> None:
    """Merge the work with a line that was merged between, land it, and move the checkout."""
    between = await home.host.create_worktree("t2", home.base)
    write(between.path, {"kept": "kept\nbetween\n"})
    head = await home.commit_work("t2")
    merged = await home.host.merge(head, (MergePart(commit=work, message="m"),), WHEN)
    assert isinstance(merged, Merged), merged
    assert (await home.land(merged.commit)).kind == "landed"
    assert home.run("show", f"{BRANCH}:kept") == "kept\nbetween"
    request = FastForwardRequest(path=home.path, branch="main", old=home.base, new=merged.commit)
    outcome = await home.user.fast_forward(request)
    assert outcome.kind == "landed", outcome
    assert home.run("status", "--porcelain", "-uall") == ""
