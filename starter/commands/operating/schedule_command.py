"""`schedule`: sessions that start at their time, without a person."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from starter.console.command_errors import CommandError
from starter.console.exit_codes import ExitCode
from starter.console.nested_session import refuse_inside
from starter.console.terminal import command, one_line, write
from starter.input.session_options import JsonOption

if TYPE_CHECKING:
    from starter.sessions.schedules import Schedules, ShownSchedule
    from workflows.domain.session.scheduled_goal import ScheduledGoal

schedule = typer.Typer(
    help="Start sessions at set times, unattended.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The schedule's name.")]


@schedule.command()
@command
async def add(  # noqa: PLR0913 (one parameter for each thing that a person may type)
    name: NameArgument,
    goal: Annotated[
        str | None, typer.Argument(metavar="[GOAL]", help="As in `run`; `-` reads stdin.")
    ] = None,
    *,
    cron: Annotated[str, typer.Option(help="When: minute hour day month weekday.")],
    time_zone: Annotated[str, typer.Option(help="The time zone of --cron.")] = "UTC",
    file: Annotated[Path | None, typer.Option(help="Read the goal from this file now.")] = None,
    issues: Annotated[
        str | None,
        typer.Option(
            metavar="LABEL",
            help="Instead of starting GOAL, queue the open issues with this label each time.",
        ),
    ] = None,
    repo: Annotated[Path, typer.Option(help="The repository, or a folder in it.")] = Path(),
    config: Annotated[Path | None, typer.Option(help="As in `run`; read each time.")] = None,
    base: Annotated[str | None, typer.Option(help="As in `run`; looked up each time.")] = None,
    pacing: Annotated[Literal["wave", "flow"] | None, typer.Option(help="As in `run`.")] = None,
    auto_approve: Annotated[bool, typer.Option("--auto-approve", help="As in `run`.")] = False,
    allow_unjudged_base: Annotated[
        bool, typer.Option("--allow-unjudged-base", help="As in `run`.")
    ] = False,
    budget: Annotated[
        str | None, typer.Option(metavar="USD", help="The cap of each session.")
    ] = None,
    playbook: Annotated[Path | None, typer.Option(help="As in `run`.")] = None,
) -> ExitCode:
    """Start a session for GOAL at set times, unless one is open on the repository."""
    refuse_inside("schedule add")
    from starter.input.goal_text import read_goal
    from starter.input.scheduled_goals import labelled_goal, scheduled_goal
    from starter.input.session_request import RunOptions

    options = RunOptions(
        repo=repo,
        config=_absolute(config),
        base=base,
        pacing=pacing,
        auto_approve=auto_approve,
        playbook=_absolute(playbook),
        budget=budget,
        allow_unjudged_base=allow_unjudged_base,
    )
    # What would be refused later, when no one watches, is refused now.
    if issues is None:
        goal_options = replace(options, goal=await read_goal(goal, file))
        return await _add(await scheduled_goal(goal_options, name), cron, time_zone, [])
    if goal is not None or file is not None:
        raise CommandError("say the goal once: the issues of --issues are the goals")
    scheduled, count = await labelled_goal(options, name, issues)
    note = f"{count} open issues have the label {issues!r} now; each becomes one session."
    return await _add(scheduled, cron, time_zone, [note])


async def _add(
    scheduled: "ScheduledGoal", cron: str, time_zone: str, notes: "Sequence[str]"
) -> ExitCode:
    schedules = await _schedules()
    await schedules.add(scheduled, cron, time_zone)
    write([*lines([await schedules.show(scheduled.name)]), *notes, *_notes(scheduled)])
    return ExitCode.COMPLETE


def _notes(scheduled: "ScheduledGoal") -> Iterator[str]:
    yield "It fires while server and workers run (`up --detach`)."
    if not scheduled.auto_approve:
        yield "Its sessions wait for your approvals, unless your configuration gives them."


@schedule.command(name="list")
@command
async def list_(*, json: JsonOption = False) -> ExitCode:
    """List schedules: when each fires next, and what happened last time."""
    from starter.console import json_output

    found = await (await _schedules()).list()
    if json:
        return json_output.write_object(schedules=found)
    write(lines(found))
    return ExitCode.COMPLETE


@schedule.command()
@command
async def trigger(name: NameArgument) -> ExitCode:
    """Fire a schedule now, unless its session is open."""
    refuse_inside("schedule trigger")
    await (await _schedules()).trigger(name)
    write([f"schedule {name} fires; `schedule list` shows the result"])
    return ExitCode.COMPLETE


@schedule.command()
@command
async def pause(name: NameArgument) -> ExitCode:
    """Stop a schedule from firing; a session that it started continues."""
    refuse_inside("schedule pause")
    await (await _schedules()).pause(name)
    write([f"schedule {name} is paused"])
    return ExitCode.COMPLETE


@schedule.command()
@command
async def resume(name: NameArgument) -> ExitCode:
    """Resume a paused schedule."""
    refuse_inside("schedule resume")
    schedules = await _schedules()
    await schedules.resume(name)
    write(lines([await schedules.show(name)]))
    return ExitCode.COMPLETE


@schedule.command()
@command
async def remove(name: NameArgument) -> ExitCode:
    """Remove a schedule; a session that it started continues."""
    refuse_inside("schedule remove")
    await (await _schedules()).remove(name)
    write([f"schedule {name} is removed"])
    return ExitCode.COMPLETE


async def _schedules() -> "Schedules":
    from starter.machine.engine import connected
    from starter.machine.own_settings import read_settings
    from starter.sessions.schedules import Schedules

    return Schedules(await connected(read_settings()))


def lines(found: "Sequence[ShownSchedule]") -> Iterator[str]:
    """Return schedules in words: when, for what, and what became of the last time."""
    if not found:
        yield "no schedule yet; `schedule add NAME --cron ... GOAL` adds one"
    for each in found:
        following = "paused" if each.next_at is None else f"next {each.next_at:%Y-%m-%d %H:%M} UTC"
        when = one_line(f"{each.cron} ({each.time_zone})", 80)
        yield f"{each.name}  {when}, {following}  {one_line(each.goal, 80)}"
        if each.last_at is not None:
            yield f"  last {each.last_at:%Y-%m-%d %H:%M} UTC: {_last(each)}"
        if each.skipped_overlaps:
            yield f"  skipped {each.skipped_overlaps} times, because its last firing had not ended"


def _last(each: "ShownSchedule") -> str:
    if each.last == "started":
        return f"started session {each.last_session}"
    known = each.last or "unknown"
    return f"{known}: {one_line(each.last_reason, 300)}" if each.last_reason else known


def _absolute(path: Path | None) -> Path | None:
    return None if path is None else path.absolute()
