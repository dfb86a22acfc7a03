"""Comments as they are typed: their form, and that each has its place in the diff."""

from pathlib import Path

import pytest

from starter.console.command_errors import CommandError
from starter.input.typed_comments import TypedComment, placed, read_comments
from tests.unit.starter.views.test_file_diffs import DIFF


def test_comments_come_from_options_and_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "comments"
    file.write_text("# of the review\n\n./src/a.py:12: is 3: really? \n")
    assert read_comments(["a b.py:1:x"], file) == [
        TypedComment("a b.py", 1, "x"),
        TypedComment("src/a.py", 12, "is 3: really?"),
    ]


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("a.py", "'a.py' is not a comment; write FILE:LINE:TEXT"),
        ("a.py:x:text", "write FILE:LINE:TEXT"),
        ("a.py:0:text", "write FILE:LINE:TEXT"),
        ("a.py:3: ", "write FILE:LINE:TEXT"),
        ("a.py:3:" + "x" * 2_001, "shorten the comment to 2000 characters"),
    ],
)
def test_what_is_no_comment_is_refused_with_the_form(typed: str, said: str) -> None:
    with pytest.raises(CommandError, match=said.replace("(", r"\(")):
        read_comments([typed], None)


def test_a_fault_in_a_file_is_reported_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "comments"
    file.write_text("a:1:x\nnonsense\n")
    with pytest.raises(CommandError, match="comments', line 2: 'nonsense' is not a comment"):
        read_comments([], file)
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(CommandError, match="is not a text file"):
        read_comments([], file)
    with pytest.raises(CommandError, match="there are 101 comments; send at most 100"):
        read_comments(["a:1:x"] * 101, None)


def test_a_comment_gets_its_task_and_the_line_that_it_is_about() -> None:
    (found,) = placed([TypedComment("src/a.py", 11, "in English")], {"a": "", "b": DIFF})
    assert (found.task, found.quote) == ("b", "zwei")


@pytest.mark.parametrize(
    ("path", "line", "said"),
    [
        ("src/b.py", 1, "'src/b.py' is not in the changeset; it changes gone.txt, src/a.py"),
        (
            "src/a.py",
            99,
            "line 99 of 'src/a.py' is not in the changeset's diff; it shows lines 10-14",
        ),
        ("gone.txt", 1, "it shows no line of the new file"),
    ],
)
def test_a_comment_without_a_place_in_the_diff_is_refused(path: str, line: int, said: str) -> None:
    with pytest.raises(CommandError) as refused:
        placed([TypedComment(path, line, "x")], {"b": DIFF})
    assert said in str(refused.value)
