"""An issue in a Markdown file, as the goal of a session.

What stands there is data: it can only say what is wanted. Rights come from the configuration.
"""

import re
from pathlib import Path
from typing import Final

from activities.text.text_files import TextFileError, read_text_file
from starter.console.command_errors import CommandError

_MOST_BYTES: Final = 400_000
_FRONT_MATTER: Final = re.compile(
    r"\A---[ \t]*\n.*?^(?:---|\.\.\.)[ \t]*$\n?", re.DOTALL | re.MULTILINE
)
_CODE_OR_COMMENT: Final = re.compile(
    r"(?P<code>^(?P<fence>`{3,}|~{3,})[^\n]*\n.*?^(?P=fence)[ \t]*$)|<!--.*?(?:-->|\Z)",
    re.DOTALL | re.MULTILINE,
)


def read_issue(path: Path) -> str:
    """Return the goal that an issue describes.

    Raises:
        CommandError: it cannot be read, or has no text.
    """
    try:
        goal = goal_of(read_text_file(path, _MOST_BYTES))
    except TextFileError as error:
        raise CommandError(f"issue: {error}") from None
    if not goal:
        raise CommandError(f"issue {str(path)!r} has no text that its reader would see")
    return goal


def goal_of(text: str) -> str:
    """Return an issue without its front matter, and without comments, which its readers do not see.

    Comments in fenced code are kept: readers see those.
    """
    plain = text.removeprefix("\ufeff").replace("\r\n", "\n")
    body = _FRONT_MATTER.sub("", plain, count=1)
    return _CODE_OR_COMMENT.sub(lambda found: found["code"] or "", body).strip()
