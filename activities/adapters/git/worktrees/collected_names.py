"""Names and links that must not be collected. Pure, except for reading links below the root."""

import os
import re
from collections.abc import Callable

from workflows.policy.text.visible_text import IN_A_FILE_NAME, escaped

# Code points that HFS+ ignores in names: with them `.g<ignored>it` is `.git` (CVE-2014-9390).
HFS_IGNORED = frozenset(
    [*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF]
)
DOT_GIT_BEGINS = frozenset(b".gG")
"""First bytes of ASCII names that some file system may take for `.git`."""
DOT_GITMODULES = re.compile(r"\.gitmodules|(?:gitmod|g(?:i(?:7(?:e(?:ba?)?)?)?)?)~[0-9]+")
"""`.gitmodules` with the short names that NTFS may give it."""
LINK_HOPS = 4000
"""How many parts of links to follow before it counts as a circle; systems stop after 40 links."""


def shown(path: bytes) -> str:
    """Return a path for a person or a model: valid text, control characters visible."""
    return escaped(path.decode("utf-8", "backslashreplace"), IN_A_FILE_NAME)


def is_dot_git(name: bytes) -> bool:
    """Say whether some file system takes this name for `.git`."""
    if name.isascii() and name[0] not in DOT_GIT_BEGINS:
        return False
    return _as_read_elsewhere(name) in (".git", "git~1")


def is_dot_gitmodules(name: bytes) -> bool:
    """Say whether some file system takes this name for `.gitmodules`."""
    return DOT_GITMODULES.fullmatch(_as_read_elsewhere(name)) is not None


def _as_read_elsewhere(name: bytes) -> str:
    text = name.decode("utf-8", "replace")
    text = "".join(c for c in text if ord(c) not in HFS_IGNORED).casefold()
    return text.split(":")[0].rstrip(". ")


def backslash_fault(path: bytes) -> str | None:
    """Return the fault of a path where a backslash separates, as on Windows; None if it has none.

    Git itself drops such a path silently.
    """
    parts = path.replace(b"\\", b"/").split(b"/")
    if b"\\" in path and any(part and is_dot_git(part) for part in parts):
        return "where a backslash separates it leads into .git"
    return None


def name_fault(path: bytes) -> str | None:
    """Return the fault of a new path's name; None if it has none."""
    try:
        text = path.decode("utf-8")
    except UnicodeDecodeError:
        return "its name is not UTF-8"
    if any(c in IN_A_FILE_NAME for c in text):
        return "its name has control characters"
    return None


def link_fault(root: bytes, path: bytes) -> str | None:
    """Return why a symlink's target is forbidden; None if it stays inside.

    Follows the target part by part without ever leaving the root, so it inspects nothing outside.
    A target that does not exist is allowed.

    Args:
        root: the worktree.
        path: the link, relative to it.
    """
    return fault_of_link(path, lambda place: _target(root, place))


def fault_of_link(path: bytes, target_of: Callable[[bytes], bytes | None]) -> str | None:
    """Return why a symlink's target is forbidden; None if it stays inside.

    Args:
        path: the link, relative to the root.
        target_of: the target of the link at a path; None if there is no link.
    """
    target = target_of(path) or b""
    if target.startswith(b"/"):
        return "its target is absolute"
    done, rest = path.split(b"/")[:-1], target.split(b"/")
    for _ in range(LINK_HOPS):
        if not rest:
            return "it leads into .git" if done and is_dot_git(done[0]) else None
        part, *rest = rest
        hop = _hop(target_of, done, part)
        if isinstance(hop, str):
            return hop
        rest = [*hop, *rest]
    return "it leads in a circle"


def _target(root: bytes, place: bytes) -> bytes | None:
    try:
        return os.readlink(os.path.join(root, place))
    except OSError:
        return None


def _hop(
    target_of: Callable[[bytes], bytes | None], done: list[bytes], part: bytes
) -> list[bytes] | str:
    """Follow one part of a target; return the parts that a link there adds, or the fault."""
    if part in (b"", b"."):
        return []
    if part == b"..":
        if not done:
            return "it leads out of the repository"
        done.pop()
        return []
    target = target_of(b"/".join((*done, part)))
    if target is None:
        done.append(part)
        return []
    return "it leads to an absolute link" if target.startswith(b"/") else target.split(b"/")
