"""Names and links that must not be collected. Pure, except for reading links below the root."""

import os
import stat

# Code points that HFS+ ignores in names: with them `.g<ignored>it` is `.git` (CVE-2014-9390).
HFS_IGNORED = frozenset(
    [*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF]
)
DOT_GIT_BEGINS = frozenset(b".gG")
"""First bytes of ASCII names that may mean `.git` somewhere."""
LINK_HOPS = 40


def shown(path: bytes) -> str:
    """Return a path for a person or a model: valid text, control characters visible."""
    text = path.decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def is_dot_git(name: bytes) -> bool:
    """Say whether some file system takes this name for `.git`."""
    if name.isascii() and name[0] not in DOT_GIT_BEGINS:
        return False
    text = name.decode("utf-8", "replace")
    text = "".join(c for c in text if ord(c) not in HFS_IGNORED).casefold()
    return text.split(":")[0].rstrip(". ") in (".git", "git~1")


def name_fault(path: bytes) -> str | None:
    """Return what is wrong with a new path's name; None if nothing is."""
    try:
        text = path.decode("utf-8")
    except UnicodeDecodeError:
        return "its name is not UTF-8"
    if any(ord(c) < 0x20 or 0x7F <= ord(c) < 0xA0 or c in "\u2028\u2029" for c in text):
        return "its name has control characters"
    return None


def link_fault(root: bytes, path: bytes) -> str | None:
    """Return why a symlink leads where it must not; None if it stays inside.

    Walks the target part by part without ever leaving the root, so that nothing outside is even
    looked at. A target that does not exist is allowed.

    Args:
        root: the worktree.
        path: the link, relative to it.
    """
    target = os.readlink(os.path.join(root, path))
    if target.startswith(b"/"):
        return "its target is absolute"
    done, rest = path.split(b"/")[:-1], target.split(b"/")
    for _ in range(LINK_HOPS * 100):
        if not rest:
            return "it leads into .git" if done and is_dot_git(done[0]) else None
        part, *rest = rest
        hop = _hop(root, done, part)
        if isinstance(hop, str):
            return hop
        rest = [*hop, *rest]
    return "it leads in a circle"


def _hop(root: bytes, done: list[bytes], part: bytes) -> list[bytes] | str:
    """Take one part of a target; return what a link there adds, or the fault."""
    if part in (b"", b"."):
        return []
    if part == b"..":
        if not done:
            return "it leads out of the repository"
        done.pop()
        return []
    here = os.path.join(root, *done, part)
    try:
        is_link = stat.S_ISLNK(os.lstat(here).st_mode)
        target = os.readlink(here) if is_link else b""
    except OSError:
        is_link, target = False, b""
    if not is_link:
        done.append(part)
        return []
    return "it leads to an absolute link" if target.startswith(b"/") else target.split(b"/")
