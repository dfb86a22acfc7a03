"""Finished work that could not be delivered to the person's repository: where it is, how to get it.

Reads the host's data on this machine and changes nothing; unreadable data is not mentioned.
"""

import os
import shlex
from pathlib import Path
from typing import Final

from starter.sessions.shown_session import ShownSession
from workflows.domain.session.notice import NoticeKind

_TRUSTING: Final = ("--upload-pack", "git -c safe.directory=* upload-pack")
"""As root: otherwise git refuses a repository of the host worker's user."""


def lines(session: ShownSession, host_dir: Path) -> list[str]:
    """Return lines about an ended session whose work was not delivered; else nothing.

    Args:
        session: its current view.
        host_dir: the host's data directory, where Blue Flame's repositories are.
    """
    refused = any(notice.kind is NoticeKind.DELIVERY for notice in session.notices)
    if session.outcome in (None, "complete") or not refused:
        return []
    ref = f"refs/blueflame/{session.session}/merged"
    kept = _keeping(ref, host_dir / "repositories")
    if kept is None:
        return []
    branch = f"refs/heads/blueflame-{session.session}"
    trusting = () if kept.stat().st_uid == os.geteuid() else _TRUSTING
    fetch = ("git", "-C", session.repository, "fetch", *trusting, str(kept), f"{ref}:{branch}")
    return [
        f"Kept       what is merged was not brought to {session.repository!r}; take it by",
        f"           {shlex.join(fetch)}",
    ]


def _keeping(ref: str, repositories: Path) -> Path | None:
    for bare in sorted(repositories.glob("*.git")):
        try:
            if (bare / ref).exists() or f" {ref}\n" in (bare / "packed-refs").read_text():
                return bare
        except OSError:  # packed refs are missing, or belong to another user
            continue
    return None
