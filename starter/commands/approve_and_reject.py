"""Commands that decide what a session waits for: `approve`, `reject`."""

from typing import Annotated

import typer

from starter.console.exit_codes import ExitCode
from starter.console.terminal import command, write
from starter.input.session_options import ActingOption, one_session

_What = Annotated[
    str | None,
    typer.Argument(
        metavar="[WHAT]", help="`plan` or a changeset's id. Default: the only one that waits."
    ),
]
_Digest = Annotated[
    str | None,
    typer.Option(
        help="Digest, or its beginning, of the changeset that you saw; refused if it changed."
    ),
]


@command
async def approve(
    what: _What = None, digest: _Digest = None, session: ActingOption = None
) -> ExitCode:
    """Approve the plan or a changeset."""
    return await _decide(what, digest, session, rejected_with=None)


@command
async def reject(
    what: _What = None,
    notes: Annotated[str, typer.Option(help="What the next attempt should know.")] = "",
    digest: _Digest = None,
    session: ActingOption = None,
) -> ExitCode:
    """Reject the plan or a changeset. Notes go to the next attempt."""
    return await _decide(what, digest, session, rejected_with=notes)


async def _decide(
    what: str | None, digest: str | None, wanted: str | None, *, rejected_with: str | None
) -> ExitCode:
    from starter.decisions import decision_checks
    from starter.sessions.sent_decisions import decider, send
    from starter.views import safety_labels, session_words

    sessions, session = await one_session(wanted, acts=True)
    view = await sessions.view(session)
    ask = decision_checks.chosen(view, what, digest)
    if rejected_with is None:
        decision = decision_checks.approval(ask, decider())
        told = session_words.decided("approved", ask, session)
        told += session_words.judged_note(view, ask)
    else:
        decision = decision_checks.rejection(ask, rejected_with, decider())
        told = session_words.decided("sent back", ask, session)
    await send(sessions, view, *decision)
    write([*told, *safety_labels.of(view)], session_words.style)
    return ExitCode.COMPLETE
