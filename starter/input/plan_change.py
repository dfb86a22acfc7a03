"""Changes a session's plan, by a file or in the person's editor: `plan edit`, and `watch`."""

from pathlib import Path
from typing import TYPE_CHECKING

from starter.console.command_errors import CommandError
from starter.console.exit_codes import ExitCode
from starter.console.program_name import program
from starter.console.terminal import is_interactive
from starter.decisions import decision_checks
from starter.input import plan_files
from starter.sessions.sent_decisions import decider, send
from starter.views import plan_words, safety_labels, session_words
from workflows.domain.session.decision_inputs import EditPlan, ReplacePlan
from workflows.policy.decision.plan_edits import plan_digest

if TYPE_CHECKING:
    from starter.sessions.session_client import Sessions
    from starter.sessions.shown_session import ShownSession
    from workflows.domain.ids import SessionId
    from workflows.domain.plan import Plan


async def change_plan(
    sessions: "Sessions", session: "SessionId", file: Path | None = None, digest: str = ""
) -> list[str]:
    """Send a changed plan, and return what to tell the person.

    Args:
        sessions: where the session is.
        session: whose plan it is.
        file: the whole new plan; None: the person edits the present one.
        digest: of the plan that the file changes, or its beginning; empty: what the file says, or
            the present one.

    Raises:
        CommandError: there is no plan, the new one has faults, or the session refuses it. An edit
            is then kept, and the message says where.
    """
    view = await sessions.view(session)
    decision_checks.editable(view)
    old = await sessions.plan(session)
    if file is not None:
        made_from = digest or plan_files.digest_in(file)
        return await _sent(sessions, view, old, plan_files.read_plan_file(file), made_from)
    if not is_interactive():
        raise CommandError("there is no terminal for an editor; give the plan with --file FILE")
    if old is None:
        raise CommandError(
            f"session {session!r} has no plan to edit; give one with --file FILE", ExitCode.STALE
        )
    async with plan_files.edited(old, f"{program()} plan edit {session}") as new:
        if new is None:
            return ["nothing was changed; nothing was sent"]
        return await _sent(sessions, view, old, new, digest)


async def _sent(
    sessions: "Sessions", view: "ShownSession", old: "Plan | None", new: "Plan", made_from: str
) -> list[str]:
    if old is None:
        await send(sessions, view, "replace_plan", ReplacePlan(plan=new, by=decider()))
    else:
        now = plan_digest(old)
        named = now if now.startswith(made_from) else made_from[:64]
        await send(sessions, view, "edit_plan", EditPlan(plan=new, digest=named, by=decider()))
    told = session_words.told(plan_words.edit(old, new), view.session)
    money = plan_words.most_money(new.tasks, await sessions.agents(view.session))
    return [*told, money, *safety_labels.of(view)]
