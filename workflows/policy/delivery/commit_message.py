"""The message of a task's commit: what was done, why, and the criteria that it meets.

Titles, summaries and criteria hold a model's words. They mention no one and close no issue on a
hosting service; a ticket in the subject is the person's own, from the goal.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from workflows.policy.delivery.pull_text import unlinked
from workflows.policy.text.secret_patterns import without_secrets

_SUBJECT: Final = 100
_SUMMARY: Final = 2_000
_CRITERIA: Final = 20
_CRITERION: Final = 300
_WIDTH: Final = 72


def task_message(subject: str, summary: str, criteria: Sequence[str]) -> str:
    """Return the message of a task's commit, without trailers.

    Args:
        subject: its first line; shortened to 100 characters, and then whole below it.
        summary: what the developer said of the work; may be empty.
        criteria: the task's acceptance criteria. A commit is only merged once they were approved.
    """
    parts = [shortened(subject)]
    if summary.strip():
        told = unlinked(without_secrets(summary.strip())[:_SUMMARY])
        parts.append("\n".join(_wrapped(told.splitlines())))
    if criteria:
        told = [unlinked(" ".join(each.split())[:_CRITERION]) for each in criteria[:_CRITERIA]]
        lines = _wrapped((f"- {each}" for each in told), "  ")
        parts.append("\n".join(("Criteria met:", *lines)))
    return "\n\n".join(parts)


def shortened(text: str) -> str:
    """Return a message for one line of text: shortened where it is long, and whole below it."""
    if len(text) <= _SUBJECT:
        return text
    return f"{text[: _SUBJECT - 3].rstrip()}...\n\n{text}"


def _wrapped(lines: Iterable[str], indent: str = "") -> Iterator[str]:
    """Yield lines of at most 72 characters, broken between words; indented text stays as it is."""
    for line in lines:
        if line.startswith((" ", "\t", "```", "|")):
            yield line
            continue
        now = ""
        for word in line.split(" "):
            if now and len(now) + 1 + len(word) > _WIDTH:
                yield now
                now = f"{indent}{word}"
            else:
                now = f"{now} {word}" if now else word
        yield now
