"""What git says when it cannot read a person's repository, in words that tell what to do.

Only for looking, before anything is made: there each failure of git means that the repository
cannot be worked on, and trying again would not help.
"""

import re
from typing import Final

from activities.adapters.git.user.user_git import Found
from activities.ports.git_errors import (
    GitCommandError,
    RepositoryDamagedError,
    RepositoryRefusedError,
    RepositoryUnreadableError,
)

_MENDS: Final = (
    (r"unknown repository extension|Expected git repo version", "a newer git may know the format"),
    (r"bad config|bad numeric config|bad boolean config", "fix that file (`git config --edit`)"),
    (r"index file|index uses", "`git read-tree HEAD` in it makes the index again"),
    (r"alternate|object directory", "its file `.git/objects/info/alternates` leads nowhere"),
)
_ELSE: Final = "`git fsck` in it tells more, and a fresh clone may fix it"
_PLACE: Final = re.compile(r"/\S*/blueflame-[^/]+/")
"""The folder of a copy that we read instead, which no person can find."""


def refusal(found: Found, error: GitCommandError) -> RepositoryRefusedError:
    """Return what a failed look at the repository means.

    Raises:
        GitCommandError: git itself was ended, which says nothing about the repository.
    """
    if error.code < 0:
        raise error
    said = _PLACE.sub(".git/", error.stderr.strip())
    if "ermission denied" in said:
        return RepositoryUnreadableError(
            f"{str(found.root)!r} belongs to {found.owner} and cannot be read ({said}); give the "
            "account that runs Blue Flame read access, or start it as the owner"
        )
    return damaged(found, said)


def damaged(found: Found, said: str) -> RepositoryDamagedError:
    """Return the refusal of a repository that git itself cannot read."""
    fix = next((fix for pattern, fix in _MENDS if re.search(pattern, said)), _ELSE)
    return RepositoryDamagedError(f"git cannot read {str(found.root)!r} ({_short(said)}); {fix}")


def _short(said: str) -> str:
    """Keep what git gave up with; what it noted before that is seldom of use to a person."""
    lines = " ".join(said.split()).removeprefix("error: ").split("fatal: ")
    return lines[-1][:300] or "it does not say why"
