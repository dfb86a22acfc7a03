"""Patches on files: every byte beside the change stays, and nothing is done by halves."""

import contextlib
import difflib
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.toolset.inside import file_hunks, file_tools
from activities.toolset.patch_format import Hunk, parse_patch


def apply(root: Path, *lines: str, judged: list[str] | None = None) -> dict[str, str]:
    changes = parse_patch("\n".join(["*** Begin Patch", *lines, "*** End Patch"]))
    named = [path for change in changes for path in change.paths()]
    request = {
        "op": "apply_patch",
        "changes": [change.request() for change in changes],
        "judged": named if judged is None else judged,
    }
    kind, text = file_tools.answer(cast("file_tools.Request", request), str(root))
    return {kind: text}


@pytest.mark.parametrize(
    ("before", "hunk", "after"),
    [
        (b"a\nb\nc\n", ["@@", " a", "-b", "+x", " c"], b"a\nx\nc\n"),
        (b"a\r\nb\nc\r\n", ["@@", " a", "-b", "+x", " c"], b"a\r\nx\nc\r\n"),
        (b"a\r\nb\r\nc\r\n", ["@@", " a", "-b", "+x", "+y", " c"], b"a\r\nx\r\ny\r\nc\r\n"),
        (b"a\r\nb\nc\r\n", ["@@", " c", "+d"], b"a\r\nb\nc\r\nd\r\n"),
        (b"a\r\nb", ["@@", "-b", "+x", "+y"], b"a\r\nx\r\ny"),
        (b"one\ntwo", ["@@", "-two", "+three"], b"one\nthree"),
        (b"one\ntwo", ["@@", " two", "+three"], b"one\ntwo\nthree"),
        (b"one\ntwo", ["@@", "-two"], b"one"),
        (b"one\ntwo\n", ["@@", "-two", "+three", "*** End of File"], b"one\nthree\n"),
        (b"x\ny\nx\n", ["@@", "-x", "+z", "*** End of File"], b"x\ny\nz\n"),
        (b"caf\xe9 x\nold\n", ["@@", "-old", "+new"], b"caf\xe9 x\nnew\n"),
        (b"\xef\xbb\xbfk=1\nj=2\n", ["@@", "-j=2", "+j=3"], b"\xef\xbb\xbfk=1\nj=3\n"),
        (b"a\f\x0bb\x85\nold\n", ["@@", "-old", "+new"], b"a\f\x0bb\x85\nnew\n"),
        (b"a\n", ["@@", "+z", "*** End of File"], b"a\nz\n"),
        (b"", ["@@", "+z"], b"z\n"),
        (b"a\n", ["@@", "-a"], b""),
        (b"f:\n x\ng:\n x\n", ["@@ g:", "- x", "+ y"], b"f:\n x\ng:\n y\n"),
        (b"f:\n x\ng:\n x\n x\n", ["@@ g:", " g:", "- x", "+ y"], b"f:\n x\ng:\n y\n x\n"),
        (
            b"class A:\n  def f:\n    x\nclass B:\n  def f:\n    x\n",
            ["@@ class B:", "@@   def f:", "-    x", "+    y"],
            b"class A:\n  def f:\n    x\nclass B:\n  def f:\n    y\n",
        ),
        (b"a\nb\nc\nd\n", ["@@", "-a", "+1", "@@", "-d", "+4"], b"1\nb\nc\n4\n"),
    ],
)
def test_a_hunk_changes_its_lines_and_no_other_byte(
    tmp_path: Path, before: bytes, hunk: list[str], after: bytes
):
    (tmp_path / "f").write_bytes(before)
    assert apply(tmp_path, "*** Update File: f", *hunk) == {"text": "Updated f."}
    assert (tmp_path / "f").read_bytes() == after


@pytest.mark.parametrize(
    ("before", "hunk", "after"),
    [
        (b"a  \nb\n", ["@@", " a", "-b", "+x"], b"a  \nx\n"),
        (b"\tif a:\n\t\tb()\n", ["@@", " if a:", "-\tb()", "+\tc()"], b"\tif a:\n\t\tc()\n"),
        (b"if a:\n  b()\n", ["@@", "   if a:", "-    b()", "+    c()"], b"if a:\n  c()\n"),
        (b"  a\n\n  b\n", ["@@", " a", "", "-b", "+c", "+", "+d"], b"  a\n\n  c\n\n  d\n"),
    ],
)
def test_white_space_is_forgiven_at_the_only_place_and_told(
    tmp_path: Path, before: bytes, hunk: list[str], after: bytes
):
    (tmp_path / "f").write_bytes(before)
    told = apply(tmp_path, "*** Update File: f", *hunk)["text"]
    assert told == "Updated f (in hunk 1 only white space differed)."
    assert (tmp_path / "f").read_bytes() == after


@pytest.mark.parametrize(
    ("before", "hunk", "says"),
    [
        (b"x\ny\nx\n", ["@@", "-x", "+z"], "not fit: it fits at 2 places (lines 1, 3)"),
        (b" x\ny\n  x\n", ["@@", "-x", "+z"], "but for white space, at 2 places (lines 1, 3)"),
        (b"alpha\nbeta\n", ["@@", "-gamma", "+z"], "stands nowhere in the file. Nearest lines:"),
        (b"alpha\nbeta\n", ["@@", "-alpba", "+z"], "     1\talpha"),
        (
            b"a\nb\nc\n",
            ["@@", " a", " b", "-d", "+z"],
            "it begins to fit at line 1, but line 3 is 'c', and the hunk has 'd'",
        ),
        (b"a\nb\n", ["@@ def f():", "-b", "+z"], "its line '@@ def f():' is not in the file"),
        (
            b"a\nb\n",
            ["@@", "-b", "+z", "@@", "-a", "+y"],
            "Hunk 2 of 'f' does not fit: its line stands at line 1, before",
        ),
        (b"a\nb\n", ["@@", "+z"], "only adds, and has no context"),
        (b"a\nb\n", ["@@ a", "+z"], "only adds, and has no context"),
        (b"a\nb\n", ["@@", "-a", "+z", "*** End of File"], "stands nowhere"),
        (b"a\n", ["@@", "-a", "+a"], "changes nothing in 'f'"),
        (b"if a:\n    b()\n  c()\n", ["@@", " if a:", "   b()", "-c()", "+d()"], "does not fit"),
        (b"k\0v\na\n", ["@@", "-a", "+z"], "binary"),
        (b"\xff\xfea\0", ["@@", "-a", "+z"], "UTF-16"),
        (b"\x89PNG\r\n\x1a\n", ["@@", "-a", "+z"], "an image (PNG"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_told_and_changes_nothing(
    tmp_path: Path, before: bytes, hunk: list[str], says: str
):
    (tmp_path / "f").write_bytes(before)
    (tmp_path / "g").write_bytes(b"old\n")
    told = apply(
        tmp_path, "*** Update File: g", "-old", "+new", "*** Add File: h", "+x",
        "*** Update File: f", *hunk,
    )  # fmt: skip
    assert says in told["error"]
    assert (tmp_path / "f").read_bytes() == before
    assert (tmp_path / "g").read_bytes() == b"old\n"
    assert not (tmp_path / "h").exists()


def test_files_come_go_and_move_with_their_modes(tmp_path: Path):
    (tmp_path / "go.sh").write_text("echo a\n")
    (tmp_path / "go.sh").chmod(0o755)
    (tmp_path / "old").write_text("x\n")
    (tmp_path / "other").symlink_to("nowhere")
    told = apply(
        tmp_path,
        "*** Update File: go.sh",
        "*** Move to: bin/run.sh",
        "-echo a",
        "+echo b",
        "*** Delete File: old",
        "*** Delete File: other",
        "*** Add File: new/a.txt",
        "+one",
        "+two",
    )
    assert told["text"].splitlines() == [
        "Updated go.sh, now bin/run.sh.",
        "Deleted old.",
        "Deleted other.",
        "Added new/a.txt.",
    ]
    assert (tmp_path / "bin/run.sh").read_text() == "echo b\n"
    assert (tmp_path / "bin/run.sh").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "new/a.txt").read_text() == "one\ntwo\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bin", "new"]


def test_a_file_may_be_moved_unchanged(tmp_path: Path):
    (tmp_path / "a").write_bytes(b"x\r\ny")
    apply(tmp_path, "*** Update File: a", "*** Move to: b")
    assert (tmp_path / "b").read_bytes() == b"x\r\ny"
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (["*** Add File: f", "+x"], "exists already"),
        (["*** Add File: f/x", "+x"], "a part of its path is a file"),
        (["*** Update File: f", "*** Move to: g"], "'g' exists already"),
        (["*** Update File: none", "-x"], "does not exist"),
        (["*** Delete File: none"], "does not exist"),
        (["*** Delete File: d"], "is a folder"),
        (["*** Delete File: ."], "names no file"),
        (["*** Delete File: .git/config"], "git's own"),
        (["*** Update File: link", "*** Move to: h", "-x", "+y"], "is a link"),
        (["*** Update File: f", "-x", "+y", "*** Update File: f", "-x", "+z"], "named twice"),
        (["*** Update File: f", "-x", "+y", "*** Update File: link", "-x", "+z"], "named twice"),
        (["*** Add File: ../x", "+x"], "outside the workspace"),
        (["*** Add File: out/x", "+x"], "through a symbolic link"),
        (["*** Update File: out/hosts", "-x"], "through a symbolic link"),
    ],
)
def test_what_must_not_be_is_refused_whole(tmp_path: Path, lines: list[str], says: str):
    root = tmp_path / "root"
    (root / "d").mkdir(parents=True)
    (root / "f").write_text("x\n")
    (root / "g").write_text("x\n")
    (root / "link").symlink_to("f")
    (root / "out").symlink_to("/etc")
    judged = ["f", "g", "h", "none", "f/x", "d", "link", ".git/config"]
    assert says in apply(root, *lines, judged=judged)["error"]
    assert (root / "f").read_text() == "x\n"
    assert sorted(path.name for path in root.iterdir()) == ["d", "f", "g", "link", "out"]


def test_each_path_is_judged_as_what_it_leads_to(tmp_path: Path):
    (tmp_path / "AGENTS.md").write_text("a\n")
    (tmp_path / "CLAUDE.md").symlink_to("AGENTS.md")
    (tmp_path / "protected").mkdir()
    (tmp_path / "free").symlink_to("protected")
    lines = ("*** Update File: CLAUDE.md", "-a", "+b", "*** Add File: free/x", "+x")
    assert apply(tmp_path, *lines) == {"judge": "AGENTS.md"}
    assert apply(tmp_path, *lines, judged=["AGENTS.md"]) == {"judge": "protected/x"}
    assert (tmp_path / "AGENTS.md").read_text() == "a\n"
    assert "text" in apply(tmp_path, *lines, judged=["AGENTS.md", "protected/x"])
    assert (tmp_path / "CLAUDE.md").is_symlink()
    assert (tmp_path / "AGENTS.md").read_text() == "b\n"


def test_what_fails_half_way_is_taken_back(tmp_path: Path):
    (tmp_path / "a").write_text("x\n")
    (tmp_path / "gone").symlink_to("a")
    (tmp_path / "kept").write_text("x\n")
    (tmp_path / "kept").chmod(0o640)
    (tmp_path / "closed").mkdir()
    (tmp_path / "closed" / "c").write_text("x\n")
    (tmp_path / "closed").chmod(0o500)
    told = apply(
        tmp_path,
        "*** Update File: a",
        "-x",
        "+y",
        "*** Add File: b",
        "+b",
        "*** Delete File: gone",
        "*** Delete File: kept",
        "*** Delete File: closed/c",
    )
    (tmp_path / "closed").chmod(0o700)
    assert told["error"] == "'c': Permission denied. Nothing was changed."
    assert (tmp_path / "a").read_text() == "x\n"
    assert (tmp_path / "gone").readlink() == Path("a")
    assert (tmp_path / "kept").stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "closed" / "c").read_text() == "x\n"
    assert not (tmp_path / "b").exists()


LINES = st.lists(st.text("ab \tü", max_size=4), max_size=12)


@given(LINES, LINES, st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_any_difference_can_be_said_as_a_patch(
    before: list[str], after: list[str], end: str, is_open: bool
):
    """One hunk over the whole file, as `diff` says it: what comes out is the other file."""
    marked = [(line[0], line[2:]) for line in difflib.ndiff(before, after) if line[0] != "?"]
    hunk: file_hunks.Hunk = {"anchors": [], "lines": marked, "at_end": True}
    data = "".join(f"{line}{end}" for line in before)
    wanted = "".join(f"{line}{end if before else chr(10)}" for line in after)
    if is_open and before[1:] and before[-1]:
        data, wanted = data.removesuffix(end), wanted.removesuffix(end)
    assert file_hunks.fitted("f", data.encode(), [hunk]) == (wanted.encode(), [])


HUNKS = st.lists(
    st.builds(
        Hunk,
        st.lists(st.text("ab", min_size=1, max_size=2), max_size=1).map(tuple),
        st.lists(st.tuples(st.sampled_from(" +-"), st.text("ab \t", max_size=3)), max_size=4).map(
            tuple
        ),
        st.booleans(),
    ),
    max_size=3,
)


DATA = st.binary(max_size=30) | st.text("ab \t\r\n", max_size=30).map(str.encode)


@given(DATA.map(lambda one: one and one + b"\n"), HUNKS)
def test_any_hunk_fits_as_counted_or_is_refused(data: bytes, hunks: list[Hunk]):
    asked: list[file_hunks.Hunk] = [
        {"anchors": hunk.anchors, "lines": hunk.lines, "at_end": hunk.at_end} for hunk in hunks
    ]
    with contextlib.suppress(file_hunks.RefusedError):
        after, _ = file_hunks.fitted("f", data, asked)
        added = sum(sign == "+" for hunk in hunks for sign, _ in hunk.lines)
        removed = sum(sign == "-" for hunk in hunks for sign, _ in hunk.lines)
        assert len(lines_of(after)) == len(lines_of(data)) + added - removed


def lines_of(data: bytes) -> list[bytes]:
    """Return the lines, one without an end included."""
    return data.removesuffix(b"\n").split(b"\n") if data else []
