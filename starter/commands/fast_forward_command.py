"""`fast-forward`: a person's own branch follows a session's."""

from pathlib import Path
from typing import Annotated

import typer

from starter.console.exit_codes import ExitCode
from starter.console.terminal import execute, write


def fast_forward(
    session: Annotated[
        str | None,
        typer.Argument(
            metavar="[SESSION]",
            help="Its id; left out: the only one with work that your branch has not.",
        ),
    ] = None,
    *,
    repo: Annotated[Path, typer.Option(help="Your repository, or a folder in it.")] = Path(),
    branch: Annotated[
        str | None, typer.Option(help="Your branch; left out: the one that is checked out.")
    ] = None,
) -> None:
    """Move your branch to a session's, where nothing of yours is in the way."""
    execute(_fast_forward(repo, session, branch))


async def _fast_forward(repo: Path, session: str | None, branch: str | None) -> ExitCode:
    from starter.follow import fast_forward_offer

    write(await fast_forward_offer.go(await fast_forward_offer.find_way(repo, session, branch)))
    return ExitCode.COMPLETE
