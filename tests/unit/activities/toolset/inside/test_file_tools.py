import os
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.toolset.inside import file_edit, file_tools


def ask(root: Path, op: str, path: str, **more: object) -> dict[str, str]:
    request = {"op": op, "path": path, "offset": 1, "limit": 2000, "replace_all": False, **more}
    request |= {"judged": [path]} if "judged" not in more else {}
    kind, text = file_tools.answer(cast("file_tools.Request", request), str(root))
    return {kind: text}


def edit(root: Path, path: str, old: str, new: str, **more: object) -> dict[str, str]:
    return ask(root, "edit", path, old=old, new=new, **more)


# ---------------------------------------------------------------------------------------- edit


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"a\r\nb\nc\r\n", "b", "x", b"a\r\nx\nc\r\n"),
        (b"a\r\nb\nc\r\n", "a\nb", "x\ny", b"x\r\ny\nc\r\n"),
        (b"a\r\nb\r\nc\r\n", "b", "x\ny", b"a\r\nx\r\ny\r\nc\r\n"),
        (b"a\r\nb", "b", "x\ny", b"a\r\nx\r\ny"),
        (b"a\nb\n", "b", "x\ny", b"a\nx\ny\n"),
        (b"caf\xe9 x\n", "x", "y", b"caf\xe9 y\n"),
        (b"\xef\xbb\xbfk=1\n", "k", "key", b"\xef\xbb\xbfkey=1\n"),
        (b"one\ntwo", "two", "three", b"one\nthree"),
        (b"one\ntwo\n", "two\n", "", b"one\n"),
        ("grün 😀\n".encode(), "😀", "ß", "grün ß\n".encode()),
        (b"\f\x0bx\x85\n", "x", "y", b"\f\x0by\x85\n"),
    ],
)
def test_an_edit_changes_its_span_and_no_other_byte(
    tmp_path: Path, before: bytes, old: str, new: str, after: bytes
):
    """Field report R30."""
    (tmp_path / "f").write_bytes(before)
    assert "Edited" in edit(tmp_path, "f", old, new)["text"]
    assert (tmp_path / "f").read_bytes() == after


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"def f():\n    x = 1  \n    y = 2\n", "x = 1\ny = 2", "z = 3", b"def f():\n    z = 3\n"),
        (b"\tif a:\n\t\tb()\n", "if a:\n\tb()\n", "if c:\n\td()\n", b"\tif c:\n\t\td()\n"),
        (b"if a:\n  b()\n", "  if a:\n    b()", "  if c:\n    d()", b"if c:\n  d()\n"),
        (b"a  \r\nb\r\n", "a\nb\n", "c\nd\n", b"c\r\nd\r\n"),
        (b"a \nb\r\nc", "a\nb", "x\ny", b"x\ny\r\nc"),
        (b"  a\n\n  b\n", "a\n\nb", "c\n\nd", b"  c\n\n  d\n"),
    ],
)
def test_white_space_is_forgiven_and_the_files_indentation_kept(
    tmp_path: Path, before: bytes, old: str, new: str, after: bytes
):
    (tmp_path / "f").write_bytes(before)
    assert "differed" in edit(tmp_path, "f", old, new)["text"]
    assert (tmp_path / "f").read_bytes() == after


@pytest.mark.parametrize(
    ("before", "old", "reason"),
    [
        (b"if a:\n    b()\n  c()\n", "if a:\n  b()\nc()", "not in the file"),
        (b"x\ny\nx\n", "x", "found 2 times (lines 1, 3)"),
        (b"  x = 1\nfoo\n  x = 1\n", "x = 1 \nfoo", "not in the file"),
        (b"alpha\nbeta\n", "alpba", "1\talpha"),
        (b"k\0v", "k", "binary"),
        (b"\xff\xfea\0", "a", "UTF-16"),
        (b"", "a", "no text in it"),
        (b"same", "same", "nothing would change"),
        (b"caf\xe9 x\n", "caf\ufffd x", "cannot be quoted"),
        (b"one\ntwo\n", "     2\ttwo", "without the line numbers"),
        (b"\x89PNG\r\n\x1a\nx", "x", "is an image (PNG"),
        (b"GIF89a..x", "x", "is an image (GIF"),
        (b"RIFF....WEBPx", "x", "is an image (WebP"),
    ],
)
def test_what_cannot_be_edited_safely_is_refused_and_untouched(
    tmp_path: Path, before: bytes, old: str, reason: str
):
    """Field report R30."""
    (tmp_path / "f").write_bytes(before)
    assert reason in edit(tmp_path, "f", old, "same")["error"]
    assert (tmp_path / "f").read_bytes() == before


@pytest.mark.parametrize("replace_all", [False, True])
def test_what_fits_loosely_at_several_places_is_never_replaced(tmp_path: Path, replace_all: bool):
    (tmp_path / "f").write_bytes(b"  x = 1\ny\n    x = 1\n")
    told = edit(tmp_path, "f", "x = 1 \n", "z\n", replace_all=replace_all)["error"]
    assert told.startswith("`old` is found 2 times (lines 1, 3), and only but for white space.")
    assert (tmp_path / "f").read_bytes() == b"  x = 1\ny\n    x = 1\n"


def test_every_place_is_replaced_on_request(tmp_path: Path):
    (tmp_path / "f").write_bytes(b"xx x\r\nx")
    assert "4 places" in edit(tmp_path, "f", "x", "yy", replace_all=True)["text"]
    assert (tmp_path / "f").read_bytes() == b"yyyy yy\r\nyy"


_BYTES = st.binary(max_size=40).map(lambda one: b"x" + one.replace(b"\0", b"\n"))
_TEXT = st.text("ab \tü\N{GRINNING FACE}", max_size=12)


@given(before=_BYTES, middle=_TEXT.filter(bool), after=_BYTES, new=_TEXT)
def test_bytes_around_any_span_stay(before: bytes, middle: str, after: bytes, new: str):
    data = before + middle.encode() + after
    changes, loosely = file_edit.find(data, middle.encode(), new.encode())
    assert changes
    assert not loosely
    assert [data[start:end] for start, end, _ in changes] == [middle.encode()] * len(changes)
    assert file_edit.applied(data, changes) == data.replace(middle.encode(), new.encode())


# --------------------------------------------------------------------------------- modes, links


@pytest.mark.parametrize("mode", [0o755, 0o600, 0o644])
def test_the_mode_stays(tmp_path: Path, mode: int):
    """Field report R27."""
    (tmp_path / "f").write_text("a\n")
    (tmp_path / "f").chmod(mode)
    edit(tmp_path, "f", "a", "b")
    assert (tmp_path / "f").stat().st_mode & 0o777 == mode
    ask(tmp_path, "write", "f", content="c\n")
    assert (tmp_path / "f").stat().st_mode & 0o777 == mode
    assert (tmp_path / "f").read_text() == "c\n"


def test_an_edit_through_an_inside_link_changes_the_target(tmp_path: Path):
    """Field report R29."""
    (tmp_path / "AGENTS.md").write_text("a\n")
    (tmp_path / "CLAUDE.md").symlink_to("AGENTS.md")
    asked = edit(tmp_path, "CLAUDE.md", "a", "b")
    assert asked == {"judge": "AGENTS.md"}
    edit(tmp_path, "CLAUDE.md", "a", "b", judged=["AGENTS.md"])
    assert (tmp_path / "CLAUDE.md").is_symlink()
    assert (tmp_path / "AGENTS.md").read_text() == "b\n"


def test_a_linked_folder_is_judged_as_what_it_is(tmp_path: Path):
    (tmp_path / "protected").mkdir()
    (tmp_path / "free").symlink_to("protected")
    assert ask(tmp_path, "write", "free/x", content="1") == {"judge": "protected/x"}
    assert not (tmp_path / "protected" / "x").exists()


@pytest.mark.parametrize("path", ["d/x", "up/x", "/etc/x", "../x", "a/../../x", "d"])
@pytest.mark.parametrize("op", ["read", "write", "edit"])
def test_nothing_outside_is_reached(tmp_path: Path, op: str, path: str):
    root = tmp_path / "root"
    root.mkdir()
    (root / "a").mkdir()
    (root / "d").symlink_to("/etc")
    (root / "up").symlink_to("..")
    (tmp_path / "x").write_text("canary-1")
    answer = ask(root, op, path, content="evil", old="canary", new="evil")
    assert "Rule: " in answer["error"]
    assert (tmp_path / "x").read_text() == "canary-1"


def test_the_workspaces_own_path_is_taken(tmp_path: Path):
    (tmp_path / "f").write_text("a\n")
    assert "a" in ask(tmp_path, "read", "/workspace/f")["text"]


@pytest.mark.parametrize("path", [".git", ".git/hooks/x", "a/.GIT/config"])
def test_gits_own_files_are_not_written(tmp_path: Path, path: str):
    assert "git's own" in ask(tmp_path, "write", path, content="x")["error"]
    assert not list(tmp_path.iterdir())


def test_a_dangling_link_is_written_where_it_leads(tmp_path: Path):
    (tmp_path / "link").symlink_to("later")
    assert ask(tmp_path, "write", "link", content="x")["judge"] == "later"
    ask(tmp_path, "write", "link", content="x", judged=["later"])
    assert (tmp_path / "later").read_text() == "x"


# --------------------------------------------------------------------------------- read, write


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "(empty file)"),
        (b"a\nb\n", "     1\ta\n     2\tb"),
        (b"a\r\nb\n", "     1\ta\n     2\tb\n(line ends: CRLF and LF, mixed)"),
        (b"a\r\n", "     1\ta\n(line ends: CRLF)"),
        (b"a", "     1\ta\n(no newline at the end)"),
        (b"caf\xe9\n", "caf\ufffd\n(not UTF-8"),
    ],
)
def test_what_is_read(tmp_path: Path, content: bytes, expected: str):
    (tmp_path / "f").write_bytes(content)
    assert expected in ask(tmp_path, "read", "f")["text"]


def test_a_part_is_read_and_says_so(tmp_path: Path):
    (tmp_path / "f").write_text("".join(f"{n}\n" for n in range(1, 101)))
    text = ask(tmp_path, "read", "f", offset=40, limit=2)["text"]
    assert text == "    40\t40\n    41\t41\n(lines 40 to 41 of 100; go on with offset 42)"
    assert "past the end" in ask(tmp_path, "read", "f", offset=101)["error"]


def test_a_long_file_comes_in_parts_that_are_never_cut(tmp_path: Path):
    (tmp_path / "f").write_text("x" * 100 + "\n" + ("y" * 100 + "\n") * 500)
    text = ask(tmp_path, "read", "f")["text"]
    assert len(text) < 10_000
    assert "go on with offset" in text.splitlines()[-1]


def test_a_very_long_line_is_shortened(tmp_path: Path):
    (tmp_path / "f").write_text("x" * 100_000 + "\n")
    assert "98000 more characters in this line" in ask(tmp_path, "read", "f")["text"]


def test_a_folder_is_listed(tmp_path: Path):
    (tmp_path / "d").mkdir()
    (tmp_path / "f").touch()
    assert ask(tmp_path, "read", ".")["text"] == "(a folder)\nd/\nf"


@pytest.mark.parametrize("op", ["read", "edit", "write"])
def test_a_fifo_answers_at_once(tmp_path: Path, op: str):
    """Field report R30."""
    os.mkfifo(tmp_path / "p")
    assert "a FIFO" in ask(tmp_path, op, "p", content="x", old="a", new="b")["error"]


def test_a_missing_file_names_its_neighbours(tmp_path: Path):
    (tmp_path / "readme.md").touch()
    assert "'readme.md'" in ask(tmp_path, "read", "README")["error"]
    assert "neither does its folder" in ask(tmp_path, "read", "no/such")["error"]


def test_folders_are_made(tmp_path: Path):
    assert (
        "Created a/b/c.txt (2 lines)"
        in ask(tmp_path, "write", "a/b/c.txt", content="1\n2\n")["text"]
    )
    assert (tmp_path / "a/b/c.txt").read_bytes() == b"1\n2\n"


def test_what_cannot_be_written_says_why(tmp_path: Path):
    (tmp_path / "f").touch()
    assert "a file, not a folder" in ask(tmp_path, "write", "f/x", content="x")["error"]
    assert "workspace itself" in ask(tmp_path, "write", ".", content="x")["error"]
    assert "NUL" in ask(tmp_path, "write", "a\0b", content="x")["error"]


def test_the_interpreter_is_not_taken_down_after_the_answer(tmp_path: Path):
    (tmp_path / "f").write_text("é\n")
    request = {"op": "read", "path": "f", "judged": ["f"], "offset": 1, "limit": 9}
    script = (
        "import atexit; from activities.toolset.inside.file_tools import main; "
        f"atexit.register(print, 'taken down'); main({request})"
    )
    done = subprocess.run(
        (sys.executable, "-P", "-c", script),
        stdout=subprocess.PIPE,
        check=True,
        cwd=tmp_path,
        env={"PYTHONPATH": str(Path(__file__).parents[5])},
    )
    assert done.stdout.decode() == "text\n     1\té"
