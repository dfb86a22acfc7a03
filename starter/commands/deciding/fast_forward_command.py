"""`fast-forward`: a person's own branch follows a session's."""

from pathlib import Path
from typing import Annotated

import typer

from starter.console.exit_codes import ExitCode
from starter.console.terminal import command, write


@command
async def fast_forward(
    session: Annotated[
        str | None,
        typer.Argument(
            metavar="[SESSION]",
            help="The session's id. Default: the only one with changes not yet merged.",
        ),
    ] = None,
    *,
    repo: Annotated[Path, typer.Option(help="Your repository, or a folder in it.")] = Path(),
    branch: Annotated[
        str | None, typer.Option(help="Branch to move. Default: the one that is checked out.")
    ] = None,
) -> ExitCode:
    """Fast-forward your branch to a session's branch, if safe."""
    from starter.follow import fast_forward_offer

    write(await fast_forward_offer.go(await fast_forward_offer.find_way(repo, session, branch)))
    return ExitCode.COMPLETE
