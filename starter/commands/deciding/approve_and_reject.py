"""Commands that decide what a session waits for: `approve`, `reject`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from starter.console.command_errors import CommandError
from starter.console.exit_codes import ExitCode
from starter.console.terminal import command, write
from starter.input.session_options import ActingOption, one_session

if TYPE_CHECKING:
    from starter.input.typed_comments import TypedComment
    from starter.sessions.open_questions import Ask
    from starter.sessions.session_client import Sessions
    from starter.sessions.shown_session import ShownSession
    from workflows.domain.line_comment import LineComment

_What = Annotated[
    str | None,
    typer.Argument(
        metavar="[WHAT]", help="`plan` or a changeset's id. Default: the only one that waits."
    ),
]
_Digest = Annotated[
    str | None,
    typer.Option(
        help="Digest of the changeset that you saw; a prefix is enough. Refused if the changeset "
        "has changed."
    ),
]
_Comment = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FILE:LINE:TEXT", help="Comment on a line of the changeset's diff. Repeatable."
    ),
]
_Comments = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="File with one comment per line, as `--comment` takes it."),
]


@command
async def approve(
    what: _What = None,
    digest: _Digest = None,
    session: ActingOption = None,
    *,
    comment: _Comment = None,
    comments: _Comments = None,
) -> ExitCode:
    """Approve the plan or a changeset. Comments are kept with the changeset's tasks."""
    said = _Said(None, tuple(comment or ()), comments)
    return await _decide(what, digest, session, said)


@command
async def reject(  # noqa: PLR0913 (each option is one)
    what: _What = None,
    notes: Annotated[str, typer.Option(help="What the next attempt should know.")] = "",
    digest: _Digest = None,
    session: ActingOption = None,
    *,
    comment: _Comment = None,
    comments: _Comments = None,
) -> ExitCode:
    """Reject the plan or a changeset. Notes and comments go to the next attempt."""
    return await _decide(what, digest, session, _Said(notes, tuple(comment or ()), comments))


class _Said(NamedTuple):
    """What a person says with a decision."""

    rejected_with: str | None
    """None: it approves."""
    typed: tuple[str, ...]
    file: Path | None


async def _decide(
    what: str | None, digest: str | None, wanted: str | None, said: _Said
) -> ExitCode:
    from starter.decisions import decision_checks
    from starter.input.typed_comments import read_comments
    from starter.sessions.sent_decisions import decider, send
    from starter.views import safety_labels, session_words

    typed = read_comments(said.typed, said.file)
    sessions, session = await one_session(wanted, acts=True)
    view = await sessions.view(session)
    ask = decision_checks.chosen(view, what, digest)
    comments = await _placed(sessions, view, ask, typed)
    if said.rejected_with is None:
        decision = decision_checks.approval(ask, decider(), comments=comments)
        told = session_words.decided("approved", ask, session)
        told += session_words.judged_note(view, ask)
    else:
        reason = said.rejected_with or ("see the comments" if comments else "")
        decision = decision_checks.rejection(ask, reason, decider(), comments)
        told = session_words.decided("sent back", ask, session)
    await send(sessions, view, *decision)
    write([*told, *safety_labels.of(view)], session_words.style)
    return ExitCode.COMPLETE


async def _placed(
    sessions: "Sessions", view: "ShownSession", ask: "Ask", typed: "list[TypedComment]"
) -> "tuple[LineComment, ...]":
    """Check comments against the diff of what is decided on."""
    from starter.follow.changeset_diff import diffs_of
    from starter.input.typed_comments import placed
    from starter.machine.own_settings import read_settings
    from starter.sessions.open_questions import PlanAsk

    if not typed:
        return ()
    if isinstance(ask, PlanAsk):
        raise CommandError("comments on lines need a changeset; for a plan, use --notes")
    changeset = next(each for each in view.changesets if each.id == ask.id)
    return placed(typed, await diffs_of(sessions, view.session, changeset, read_settings()))
