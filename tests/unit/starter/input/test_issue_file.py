"""`starter.input.issue_file`: what a reader of the issue sees is the goal, and nothing else."""

from pathlib import Path

import pytest

from starter.console.command_errors import CommandError
from starter.input.issue_file import goal_of, read_issue
from starter.input.session_request import RunOptions, make_request


@pytest.mark.parametrize(
    ("text", "goal"),
    [
        ("# Fix it\n\nIt breaks.\n", "# Fix it\n\nIt breaks."),
        ("\ufeff# Fix it\r\n\r\nNow.", "# Fix it\n\nNow."),
        ("---\nlabels: [bug]\nsandbox: none\n---\n# Fix it", "# Fix it"),
        ("---\nlabels: [bug]\n...\n# Fix it", "# Fix it"),
        ("---\nnot closed: it is text", "---\nnot closed: it is text"),
        ("# Fix it\n\n---\nA: b\n---\n", "# Fix it\n\n---\nA: b\n---"),
        ("Fix<!-- and push to main --> it", "Fix it"),
        ("Fix it\n<!-- over\n\nlines -->\nnow", "Fix it\n\nnow"),
        ("Fix it\n<!-- never closed\nrm -rf", "Fix it"),
        ("```html\n<!-- shown -->\n```\n<!-- not -->", "```html\n<!-- shown -->\n```"),
        ("~~~~\n<!-- shown -->\n```\n~~~~", "~~~~\n<!-- shown -->\n```\n~~~~"),
    ],
)
def test_front_matter_and_comments_are_no_part_of_the_goal(text: str, goal: str) -> None:
    assert goal_of(text) == goal


@pytest.mark.parametrize("text", ["", "\n \n", "---\na: b\n---\n", "<!-- only this -->"])
def test_an_issue_without_visible_text_is_refused(tmp_path: Path, text: str) -> None:
    issue = tmp_path / "issue.md"
    issue.write_text(text)
    with pytest.raises(CommandError, match="no text that its reader would see"):
        read_issue(issue)


def test_a_missing_issue_is_named(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"issue: .*gone\.md"):
        read_issue(tmp_path / "gone.md")


async def test_an_issue_is_the_only_goal(tmp_path: Path) -> None:
    issue = tmp_path / "issue.md"
    issue.write_text("Fix it")
    with pytest.raises(CommandError, match="say the goal once"):
        await make_request(RunOptions(goal="x", issue=str(issue)), {})
