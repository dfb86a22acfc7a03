"""Commands that change a session's course: one signal each, checked against its state first."""

from typing import TYPE_CHECKING, Annotated

import typer

from starter.console.command_errors import CommandError
from starter.console.exit_codes import ExitCode
from starter.console.terminal import execute, write
from starter.input.session_options import ActingArgument, ActingOption, one_session

if TYPE_CHECKING:
    from pydantic import BaseModel

_Task = Annotated[str, typer.Argument(help="The task's id.")]


def skip(
    task: _Task,
    session: ActingOption = None,
    *,
    satisfies: Annotated[
        bool, typer.Option("--satisfies", help="Let tasks that depend on it start anyway.")
    ] = False,
) -> None:
    """Skip a task."""
    execute(_skip(task, session, satisfies=satisfies))


def retry(
    task: _Task,
    notes: Annotated[str, typer.Option(help="What the next attempt should know.")] = "",
    session: ActingOption = None,
) -> None:
    """Give a task another attempt."""
    execute(_retry(task, notes, session))


def steer(
    task: _Task,
    text: Annotated[str, typer.Argument(help="Message to the agent, delivered at its next turn.")],
    session: ActingOption = None,
) -> None:
    """Send a message to a task's agent."""
    execute(_steer(task, text, session))


def answer(
    session: Annotated[str, typer.Argument(metavar="SESSION", help="The session's id.")],
    task: Annotated[
        str, typer.Argument(help="The task whose agent asks, or `plan` for the planner.")
    ],
    text: Annotated[str, typer.Argument(help="The answer.")],
) -> None:
    """Answer the question of an agent that waits."""
    execute(_answer(session, task, text))


def priority(
    task: _Task,
    n: Annotated[
        int, typer.Argument(min=-100, max=100, help="Tasks with a higher number start first.")
    ],
    session: ActingOption = None,
) -> None:
    """Set a task's priority."""
    execute(_priority(task, n, session))


def budget(
    usd: Annotated[str, typer.Argument(help="The session's new cap in USD, such as 12.50.")],
    session: ActingOption = None,
) -> None:
    """Set the total that a session may spend."""
    execute(_budget(usd, session))


def proceed(session: ActingArgument = None) -> None:
    """Close the wave early and continue with the finished tasks."""
    execute(_plain("proceed", session))


def pause(session: ActingArgument = None) -> None:
    """Pause a session when its agents finish their current turn."""
    execute(_plain("pause", session))


def resume(session: ActingArgument = None) -> None:
    """Resume a paused session."""
    execute(_plain("resume", session))


def stop(session: ActingArgument = None) -> None:
    """Stop a session. Merged and unfinished work is kept."""
    execute(_plain("stop", session))


async def _skip(task: str, wanted: str | None, *, satisfies: bool) -> ExitCode:
    from starter.sessions.session_client import decider
    from workflows.domain.session.session_values import SkipTask

    return await _to_task(
        wanted, task, "skip_task", SkipTask(id=task, satisfies=satisfies, by=decider())
    )


async def _retry(task: str, notes: str, wanted: str | None) -> ExitCode:
    from starter.sessions.session_client import decider
    from workflows.domain.session.session_values import RetryTask

    return await _to_task(wanted, task, "retry_task", RetryTask(id=task, notes=notes, by=decider()))


async def _steer(task: str, text: str, wanted: str | None) -> ExitCode:
    from starter.sessions.session_client import decider
    from workflows.domain.session.session_values import SteerTask

    return await _to_task(wanted, task, "steer_task", SteerTask(id=task, text=text, by=decider()))


async def _answer(wanted: str, task: str, text: str) -> ExitCode:
    from starter.sessions.sent_decisions import send
    from starter.sessions.session_client import decider
    from starter.views import safety_labels, session_words
    from workflows.domain.session.session_values import AnswerQuestion

    sessions, session = await one_session(wanted, acts=True)
    view = await sessions.view(session)
    await send(sessions, view, "answer", AnswerQuestion(id=task, text=text, by=decider()))
    told = session_words.told(f"answer to {task}", session)
    write([*told, *safety_labels.of(view)], session_words.style)
    return ExitCode.COMPLETE


async def _priority(task: str, n: int, wanted: str | None) -> ExitCode:
    from starter.sessions.session_client import decider
    from workflows.domain.session.session_values import SetPriority

    return await _to_task(wanted, task, "set_priority", SetPriority(id=task, n=n, by=decider()))


async def _budget(usd: str, wanted: str | None) -> ExitCode:
    from starter.input.typed_amounts import read_amount
    from starter.sessions.sent_decisions import send
    from starter.sessions.session_client import decider
    from starter.views import safety_labels, session_words
    from workflows.policy.money.amounts_in_words import money

    amount = read_amount(usd)
    sessions, session = await one_session(wanted, acts=True)
    content = {"usd": float(amount), "by": decider()}
    view = await sessions.view(session)
    await send(sessions, view, "set_budget", content)
    told = session_words.told(f"budget {money(amount)}", session)
    write([*told, *safety_labels.of(view)], session_words.style)
    return ExitCode.COMPLETE


async def _plain(signal: str, wanted: str | None) -> ExitCode:
    from starter.sessions.sent_decisions import send
    from starter.sessions.session_client import decider
    from starter.views import safety_labels, session_words
    from workflows.domain.session.session_values import Nothing

    sessions, session = await one_session(wanted, acts=True)
    view = await sessions.view(session)
    await send(sessions, view, signal, Nothing(by=decider()))
    write([*session_words.told(signal, session), *safety_labels.of(view)], session_words.style)
    return ExitCode.COMPLETE


async def _to_task(wanted: str | None, task: str, signal: str, content: "BaseModel") -> ExitCode:
    from starter.sessions.sent_decisions import send
    from starter.views import safety_labels, session_words

    sessions, session = await one_session(wanted, acts=True)
    view = await sessions.view(session)
    known = [t.id for t in view.tasks]
    # Without a worker the tasks are not known: the session itself will judge.
    if view.live and task not in known:
        names = ", ".join(known) or "none yet"
        raise CommandError(
            f"task {task!r} does not exist in session {session!r}; there are: {names}"
        )
    await send(sessions, view, signal, content)
    told = session_words.told(f"{signal.replace('_', ' ')} {task}", session)
    write([*told, *safety_labels.of(view)], session_words.style)
    return ExitCode.COMPLETE
