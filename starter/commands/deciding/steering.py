"""Commands that change a session's course: one decision each, checked against its state first."""

from typing import TYPE_CHECKING, Annotated

import typer

from starter.console.command_errors import CommandError
from starter.console.exit_codes import ExitCode
from starter.console.terminal import command
from starter.input.session_options import (
    ActingArgument,
    ActingOption,
    one_session,
    send_and_tell,
)

if TYPE_CHECKING:
    from pydantic import BaseModel

_Task = Annotated[str, typer.Argument(help="The task's id.")]


@command
async def skip(
    task: _Task,
    session: ActingOption = None,
    *,
    satisfies: Annotated[
        bool, typer.Option("--satisfies", help="Let tasks that depend on it start anyway.")
    ] = False,
) -> ExitCode:
    """Skip a task."""
    from starter.sessions.sent_decisions import decider
    from workflows.domain.session.decision_inputs import SkipTask

    content = SkipTask(id=task, satisfies=satisfies, by=decider())
    return await _send_to_task(session, task, "skip_task", content)


@command
async def retry(
    task: _Task,
    notes: Annotated[str, typer.Option(help="What the next attempt should know.")] = "",
    session: ActingOption = None,
    *,
    review: Annotated[
        bool, typer.Option("--review", help="Review the same work again, without a new attempt.")
    ] = False,
) -> ExitCode:
    """Give a task another attempt, or only another review."""
    from starter.sessions.sent_decisions import decider
    from workflows.domain.session.decision_inputs import RetryTask

    if review and notes:
        raise CommandError(
            "--notes are for a next attempt, and --review starts none; leave one of them out"
        )
    content = RetryTask(id=task, notes=notes, review=review, by=decider())
    return await _send_to_task(session, task, "retry_task", content)


@command
async def steer(
    task: _Task,
    text: Annotated[str, typer.Argument(help="Message to the agent, delivered at its next turn.")],
    session: ActingOption = None,
) -> ExitCode:
    """Send a message to a task's agent."""
    from starter.sessions.sent_decisions import decider
    from workflows.domain.session.decision_inputs import SteerTask

    content = SteerTask(id=task, text=text, by=decider())
    return await _send_to_task(session, task, "steer_task", content)


@command
async def answer(
    session: Annotated[str, typer.Argument(metavar="SESSION", help="The session's id.")],
    task: Annotated[
        str, typer.Argument(help="The task whose agent asks, or `plan` for the planner.")
    ],
    text: Annotated[str, typer.Argument(help="The answer.")],
) -> ExitCode:
    """Answer an agent's question."""
    from starter.sessions.sent_decisions import decider
    from workflows.domain.session.decision_inputs import AnswerQuestion

    content = AnswerQuestion(id=task, text=text, by=decider())
    return await _send(session, "answer", content, f"answer to {task}")


@command
async def priority(
    task: _Task,
    n: Annotated[
        int, typer.Argument(min=-100, max=100, help="Tasks with a higher number start first.")
    ],
    session: ActingOption = None,
) -> ExitCode:
    """Set a task's priority."""
    from starter.sessions.sent_decisions import decider
    from workflows.domain.session.decision_inputs import SetPriority

    content = SetPriority(id=task, n=n, by=decider())
    return await _send_to_task(session, task, "set_priority", content)


@command
async def budget(
    usd: Annotated[str, typer.Argument(help="The session's new cap in USD, such as 12.50.")],
    session: ActingOption = None,
) -> ExitCode:
    """Set the total that a session may spend."""
    from starter.input.typed_amounts import read_amount
    from starter.sessions.sent_decisions import decider
    from workflows.policy.money.amounts_in_words import money

    amount = read_amount(usd)
    content = {"usd": float(amount), "by": decider()}
    return await _send(session, "set_budget", content, f"budget {money(amount)}")


@command
async def rework(
    session: ActingArgument = None,
    pull: Annotated[
        str, typer.Option(help="The pull request: `session`, or the name of a changeset.")
    ] = "session",
) -> ExitCode:
    """Add a task that fixes what a pull request's checks and reviews ask for."""
    from starter.sessions.sent_decisions import decider
    from workflows.domain.session.decision_inputs import Rework

    content = Rework(id=pull, by=decider())
    return await _send(session, "rework", content, f"rework pull request {pull}")


@command
async def proceed(session: ActingArgument = None) -> ExitCode:
    """Close the develop wave early; validate finished tasks, and start the others again later."""
    return await _send_nothing(session, "proceed")


@command
async def pause(session: ActingArgument = None) -> ExitCode:
    """Pause a session when its agents finish their current turn."""
    return await _send_nothing(session, "pause")


@command
async def resume(session: ActingArgument = None) -> ExitCode:
    """Resume a paused session."""
    return await _send_nothing(session, "resume")


@command
async def stop(session: ActingArgument = None) -> ExitCode:
    """Stop a session. Merged and unfinished work is kept."""
    return await _send_nothing(session, "stop")


async def _send_nothing(wanted: str | None, name: str) -> ExitCode:
    from starter.sessions.sent_decisions import decider
    from workflows.domain.session.decision_inputs import Nothing

    return await _send(wanted, name, Nothing(by=decider()), name)


async def _send_to_task(wanted: str | None, task: str, name: str, content: "BaseModel") -> ExitCode:
    return await _send(wanted, name, content, f"{name.replace('_', ' ')} {task}", task)


async def _send(
    wanted: str | None, name: str, content: object, told: str, task: str | None = None
) -> ExitCode:
    from starter.decisions import decision_checks

    sessions, session = await one_session(wanted, acts=True)
    view = await sessions.view(session)
    if task is not None:
        decision_checks.known_task(view, task)
    return await send_and_tell(sessions, view, name, content, told)
