"""`starter.goals`: one goal from one of three places."""

import io
import sys
from pathlib import Path

import pytest

from starter.errors import CommandError
from starter.goals import read_goal


def test_a_goal_is_typed_or_read_from_a_file(tmp_path: Path) -> None:
    page = tmp_path / "goal.md"
    page.write_bytes("\ufeffMend the pärser\n".encode())
    assert read_goal("Mend it", None) == "Mend it"
    assert read_goal(None, page) == "Mend the pärser\n"


def test_a_dash_is_the_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"from a pipe")))
    assert read_goal("-", None) == "from a pipe"


@pytest.mark.parametrize(
    ("goal", "content", "words"),
    [
        (None, None, "say what you want"),
        ("Mend it", b"Mend that", "say the goal once"),
        ("  \n", None, "the goal is empty"),
        (None, b"", "the goal is empty"),
        (None, b"\xff\xfe", "not UTF-8"),
        (None, b"x" * 400_001, "say it shorter"),
    ],
)
def test_what_is_no_goal_is_refused(
    tmp_path: Path, goal: str | None, content: bytes | None, words: str
) -> None:
    page = None
    if content is not None:
        page = tmp_path / "goal.md"
        page.write_bytes(content)
    with pytest.raises(CommandError, match=words):
        read_goal(goal, page)


def test_a_pipe_or_a_folder_is_no_goal_file(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="is no file"):
        read_goal(None, tmp_path)
