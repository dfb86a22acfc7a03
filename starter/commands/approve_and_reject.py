"""Commands that decide what a session waits for: `approve`, `reject`."""

from typing import Annotated

import typer

from starter.console.exit_codes import ExitCode
from starter.console.terminal import execute, write
from starter.input.session_options import ActingOption, one_session

_What = Annotated[
    str | None,
    typer.Argument(
        metavar="[WHAT]", help="`plan` or a changeset id. Default: the only one waiting."
    ),
]
_Digest = Annotated[
    str | None,
    typer.Option(help="Approve only this digest, or a prefix of it."),
]


def approve(what: _What = None, digest: _Digest = None, session: ActingOption = None) -> None:
    """Approve the plan or a changeset."""
    execute(_approve(what, digest, session))


def reject(
    what: _What = None,
    notes: Annotated[str, typer.Option(help="What the next attempt should know.")] = "",
    digest: _Digest = None,
    session: ActingOption = None,
) -> None:
    """Reject the plan or a changeset, with notes for the next attempt."""
    execute(_reject(what, digest, session, notes))


async def _approve(what: str | None, digest: str | None, wanted: str | None) -> ExitCode:
    from starter.decisions import decision_checks
    from starter.sessions.sent_decisions import send
    from starter.sessions.session_client import decider
    from starter.views import safety_labels, session_words

    sessions, session = await one_session(wanted, acts=True)
    view = await sessions.view(session)
    ask = decision_checks.chosen(view, what, digest)
    await send(sessions, view, *decision_checks.approval(ask, decider()))
    write(
        [
            *session_words.decided("approved", ask, session),
            *session_words.judged_note(view, ask),
            *safety_labels.of(view),
        ],
        session_words.style,
    )
    return ExitCode.COMPLETE


async def _reject(what: str | None, digest: str | None, wanted: str | None, notes: str) -> ExitCode:
    from starter.decisions import decision_checks
    from starter.sessions.sent_decisions import send
    from starter.sessions.session_client import decider
    from starter.views import safety_labels, session_words

    sessions, session = await one_session(wanted, acts=True)
    view = await sessions.view(session)
    ask = decision_checks.chosen(view, what, digest)
    await send(sessions, view, *decision_checks.rejection(ask, notes, decider()))
    write(
        [*session_words.decided("sent back", ask, session), *safety_labels.of(view)],
        session_words.style,
    )
    return ExitCode.COMPLETE
