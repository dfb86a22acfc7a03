"""An issue on a hosting service, as the goal of a session.

Title, labels and text are another person's words: they say what is wanted, and nothing in them is a
command, an option or a right. They are cut to a size, characters that show nothing are written
out, and what looks like a secret is replaced.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from starter.console.command_errors import CommandError
from starter.input.issue_file import goal_of
from workflows.policy.text.secret_patterns import without_secrets
from workflows.policy.text.visible_text import IN_AN_ISSUE, escaped

if TYPE_CHECKING:
    from activities.ports.land.hosting_entries import HostingEntry
    from activities.ports.land.issue_port import HostedIssue

_TITLE: Final = 300
_BODY: Final = 40_000
_LABELS: Final = 20
_LABEL: Final = 60


async def read_issue_at(url: str, entries: "Mapping[str, HostingEntry]", label: str = "") -> str:
    """Return the goal that an issue on a hosting service describes.

    Args:
        url: its web address.
        entries: the hosting services that the person configured.
        label: the issue must be open and have it; empty: it need not.

    Raises:
        HostingError: it cannot be read.
        CommandError: it was closed, or lost the label, after it was queued.
    """
    from workers.local.issue_lookup import read_issue

    issue = await read_issue(url, entries)
    has_label = label.casefold() in {each.casefold() for each in issue.labels}
    if label and not (issue.is_open and has_label):
        raise CommandError(f"issue {url!r} is no longer open with the label {label!r}")
    return text_of(issue)


async def issues_of(
    repository: Path, remote: str, label: str, entries: "Mapping[str, HostingEntry]"
) -> "tuple[HostedIssue, ...]":
    """Return the open issues with a label, the oldest first.

    Raises:
        HostingError: they cannot be read.
    """
    from workers.local.issue_lookup import labelled_issues

    return await labelled_issues(repository, remote, label, entries)


def text_of(issue: "HostedIssue") -> str:
    """Return an issue as one text: its title, its labels, and what its readers see of its body."""
    labels = ", ".join(map(label_of, issue.labels[:_LABELS]))
    parts = [f"# {title_of(issue)}", f"Labels: {labels}" if labels else ""]
    parts.append(_bounded(_plain(goal_of(issue.body)), _BODY))
    return "\n\n".join(filter(None, parts))


def title_of(issue: "HostedIssue") -> str:
    """Return an issue's title as one line."""
    line = " ".join(_plain(issue.title).split())
    return _bounded(line, _TITLE) or f"issue {issue.number}"


def label_of(label: str) -> str:
    """Return a label as a part of one line."""
    return " ".join(_plain(label).split())[:_LABEL]


def _plain(text: str) -> str:
    return without_secrets(escaped(text.replace("\r\n", "\n"), IN_AN_ISSUE))


def _bounded(text: str, most: int) -> str:
    left = len(text) - most
    return text if left <= 0 else f"{text[:most]}\n(cut here: {left} more characters)"
