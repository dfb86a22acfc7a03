"""Fast-forwards a person's branch to a session's, only on request and only if it is safe.

It runs with the person's own rights on their repository, without server or worker. If anything is
in the way it is reported, and nothing has changed.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from starter.console.command_errors import CommandError
from starter.console.exit_codes import ExitCode
from starter.console.terminal import shown
from starter.sessions.short_ids import fits, too_short
from workflows.domain.ids import Commit

_OURS: Final = "blueflame/"
_NAMED: Final = 5
_FILTER_VARIABLES: Final = (
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "XDG_CONFIG_HOME",
    "SSH_AUTH_SOCK",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
)
"""What a checkout's filters need. Other variables could point git to another repository."""


@dataclass(frozen=True)
class Way:
    """A person's branch, and its target."""

    repository: Path
    branch: str
    """Without `refs/heads/`."""
    old: Commit
    to: str
    """The session's branch."""
    new: Commit


async def find_way(repository: Path, session: str | None, branch: str | None) -> Way:
    """Find what would move, and where to; nothing is changed.

    Args:
        repository: the repository, or a folder in it.
        session: an id, or the beginning or end of one; None: the only session with work that the
            person's branch lacks.
        branch: the person's branch; None: the checked-out one.

    Raises:
        CommandError: there is no such repository, branch or session, or several sessions match.
    """
    from activities.ports.git_errors import GitError
    from starter.machine.system_programs import git_version

    await git_version()
    from workers.local import person_repository

    try:
        mine = await person_repository.inspect(repository, branch)
        if mine.base_branch is None:
            what = f"no branch is checked out in {str(mine.root)!r}"
            if branch:
                what = f"{branch!r} is not a branch"
            raise CommandError(f"{what}; name your branch with --branch")
        to = await _sessions_branch(mine.root, session, mine.base)
        theirs = await person_repository.inspect(mine.root, f"refs/heads/{to}")
    except GitError as error:
        raise CommandError(str(error)) from error
    return Way(mine.root, mine.base_branch, mine.base, to, theirs.base)


async def open_way(repository: Path, session: str) -> Way | None:
    """Return the way from the checked-out branch to a session's; None if nothing can move."""
    from activities.ports.git_errors import GitError
    from workers.local.person_repository import is_ancestor

    try:
        way = await find_way(repository, session, None)
        is_forward = await is_ancestor(way.repository, way.old, way.new)
    except (CommandError, GitError):
        return None  # not on this machine, on no branch: then nothing is offered
    return way if way.old != way.new and is_forward else None


async def go(way: Way, environment: Mapping[str, str] = os.environ) -> list[str]:
    """Move the branch, and the checkout that shows it; return the lines to print.

    Raises:
        CommandError: something of the person's is in the way, and nothing was changed; or git
            failed in the middle (a filter, a full disk), and the message says what it left.
    """
    from activities.ports.git_errors import GitError
    from activities.ports.user_repository import FastForwardRequest, Landed
    from workers.local.person_repository import fast_forward

    if way.old == way.new:
        return [f"{shown(way.branch)} is at {shown(way.to)} already ({way.new[:12]})"]
    filters = {name: environment[name] for name in _FILTER_VARIABLES if name in environment}
    request = FastForwardRequest(path=way.repository, branch=way.branch, old=way.old, new=way.new)
    try:
        outcome = await fast_forward(request, filters)
    except GitError as error:
        raise CommandError(f"{way.branch!r} was not moved: {error}", ExitCode.FAILED) from error
    if not isinstance(outcome, Landed):
        if outcome.reason == "failed":
            raise CommandError(outcome.text, ExitCode.FAILED)
        raise CommandError(f"{outcome.text}; nothing was changed", ExitCode.STALE)
    along = f", with the checkout {shown(str(outcome.checkout))}" if outcome.checkout else ""
    return [
        f"{shown(way.branch)} is at {shown(way.to)} now{along}",
        f"  git log -p {way.old[:12]}..{way.new[:12]}",
    ]


async def _sessions_branch(repository: Path, session: str | None, mine: Commit) -> str:
    """Return the branch of the given session."""
    from workers.local.person_repository import branches_under

    every = await branches_under(repository, _OURS)
    if session is not None:
        fitting = [name for name in every if fits(name.removeprefix(_OURS), session)]
        where = f"in {str(repository)!r}{too_short(session)}"
        none = f"no session that matches {session!r} has a branch {where}"
    else:
        fitting = await branches_under(repository, _OURS, not_merged_into=mine)
        none = f"your branch has all that sessions brought to {str(repository)!r}"
        if not every:
            none = f"no session has brought anything to {str(repository)!r}"
    if len(fitting) == 1:
        return fitting[0]
    if not fitting:
        raise CommandError(none, ExitCode.STALE if session is None else ExitCode.USAGE)
    names = ", ".join(name.removeprefix(_OURS) for name in fitting[:_NAMED])
    more = f" and {len(fitting) - _NAMED} more" if len(fitting) > _NAMED else ""
    raise CommandError(f"several sessions match: {names}{more}; name one")
