"""Pages through an output that was cut for the model and stored whole.

A cut observation shows its handle, `output:` with the digest, which other agents cannot guess.
Lines are counted as a terminal would show them; lines longer than a page are folded.
"""

import re

from activities.toolset.observations import decoded
from workflows.domain.ids import Digest

_HANDLE = re.compile(r"output:([0-9a-f]{64})")
_FOLDED_CHARACTERS = 2_000
_PAGE_CHARACTERS = 9_000
"""Less than an observation's limit, so that a page is never cut itself."""


def handle_of(digest: Digest) -> str:
    """Return the handle of a stored output."""
    return f"output:{digest}"


def digest_in(path: str) -> Digest | None:
    """Return the digest if a path is the handle of a stored output; None: it names a file."""
    found = _HANDLE.fullmatch(path.strip())
    return Digest(found[1]) if found else None


def page(output: bytes, offset: int, limit: int) -> str:
    """Show lines `offset` to `offset + limit` of an output, numbered, as many as fit on a page.

    Args:
        output: the whole output, as the command wrote it.
        offset: the first line, from 1.
        limit: the most lines.
    """
    lines = folded(decoded(output))
    shown: list[str] = []
    size = 0
    for number, line in enumerate(lines[offset - 1 : offset - 1 + limit], offset):
        text = f"{number:6}\t{line}"
        size += len(text) + 1
        if size > _PAGE_CHARACTERS:
            break
        shown.append(text)
    if not shown:
        return f"(the output has {len(lines)} lines; offset {offset} is past the end)"
    last = offset + len(shown) - 1
    more = f"; go on with offset {last + 1}" if last < len(lines) else ""
    return "\n".join([*shown, f"(lines {offset} to {last} of {len(lines)}{more})"])


def folded(text: str) -> list[str]:
    """Split into lines of at most 2,000 characters."""
    lines = text.removesuffix("\n").split("\n")
    return [
        line[start : start + _FOLDED_CHARACTERS]
        for line in lines
        for start in range(0, max(len(line), 1), _FOLDED_CHARACTERS)
    ]
