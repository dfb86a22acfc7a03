"""`run`: starts a session and follows it."""

import asyncio
import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from starter.console.command_errors import CommandError
from starter.console.exit_codes import ExitCode
from starter.console.program_name import program
from starter.console.terminal import command, write
from starter.input.session_options import LinesOption
from starter.input.session_request import RunOptions, make_request, settings_for

if TYPE_CHECKING:
    from temporalio.client import Client

    from starter.follow.interrupted_start import Beginning
    from starter.follow.watching import Watch
    from workers.server.supervisor import Supervisor
    from workers.settings import Settings
    from workflows.domain.session.session_start import SessionRequest


_Goal = Annotated[
    str | None, typer.Argument(help="What you want, in a sentence or a page; `-` reads stdin.")
]
_File = Annotated[Path | None, typer.Option(help="Read the goal from this file.")]
_Issue = Annotated[
    str | None,
    typer.Option(
        metavar="FILE|URL",
        help="Read the goal from an issue: a Markdown file, or the issue's address on GitHub, "
        "GitLab, Gitea or Forgejo.",
    ),
]
_Plan = Annotated[
    Path | None,
    typer.Option(help="Use your own plan (YAML or JSON); no planner is asked or paid."),
]
_Repo = Annotated[Path, typer.Option(help="The repository, or a folder in it.")]
_Config = Annotated[
    Path | None, typer.Option(help="Configuration file. Default: the repository's blueflame.yaml.")
]
_Base = Annotated[
    str | None, typer.Option(help="Branch, tag or commit to start from. Default: HEAD.")
]
_Pacing = Annotated[
    Literal["wave", "flow"] | None,
    typer.Option(help="Start a task when its dependencies are merged (wave) or validated (flow)."),
]
_AutoApprove = Annotated[
    bool,
    typer.Option("--auto-approve", help="Approve the plan and green changesets; stop at the cap."),
]
_AllowUnjudgedBase = Annotated[
    bool,
    typer.Option("--allow-unjudged-base", help="Continue even if no gate can judge the base."),
]
_Budget = Annotated[
    str | None, typer.Option(metavar="USD", help="The session's cap, such as 12.50.")
]
_Decisions = Annotated[
    Path | None, typer.Option(help="YAML file with rules that decide in your place.")
]
_Playbook = Annotated[
    Path | None, typer.Option(help="Run a scripted model from this file, at no cost.")
]
_Detach = Annotated[
    bool, typer.Option("--detach", help="Leave `up` running in the background, and return.")
]
_Wait = Annotated[
    bool,
    typer.Option("--wait", help="Without a terminal: keep waiting when a decision is needed."),
]
_Queue = Annotated[
    bool,
    typer.Option(
        "--queue", help="Put the goal into the repository's queue; it starts when its turn comes."
    ),
]
_DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Show what would be done, without starting anything.")
]


@command
async def run(  # noqa: PLR0913 (one parameter for each thing that a person may type)
    goal: _Goal = None,
    *,
    file: _File = None,
    issue: _Issue = None,
    plan: _Plan = None,
    repo: _Repo = Path(),
    config: _Config = None,
    base: _Base = None,
    pacing: _Pacing = None,
    auto_approve: _AutoApprove = False,
    allow_unjudged_base: _AllowUnjudgedBase = False,
    budget: _Budget = None,
    decisions: _Decisions = None,
    playbook: _Playbook = None,
    detach: _Detach = False,
    wait: _Wait = False,
    dry_run: _DryRun = False,
    queue: _Queue = False,
    json: LinesOption = False,
) -> ExitCode:
    """Start a session for GOAL or your own plan, and follow it."""
    from starter.follow.interrupted_start import told_if_interrupted

    options = RunOptions(
        goal,
        repo,
        config,
        base,
        pacing,
        auto_approve,
        playbook,
        file,
        plan,
        budget,
        decisions,
        json,
        allow_unjudged_base,
        issue,
    )
    _check_combination(options, detach=detach, dry_run=dry_run)
    if queue:
        return await _queued(options, {"--detach": detach, "--wait": wait, "--dry-run": dry_run})
    if dry_run:
        return await _dry_run(options)
    with told_if_interrupted(program(), beside=json) as beginning:
        if detach:
            return await _detached(options, beginning)
        return await _run(options, beginning, patient=wait)


def _check_combination(options: RunOptions, *, detach: bool, dry_run: bool) -> None:
    """Refuse options that conflict."""
    if options.json and dry_run:
        other = "--dry-run: `config show --json` says what it would show"
        raise CommandError(f"--json cannot go with {other}")
    if options.decisions is not None and (detach or options.auto_approve):
        other = "--detach: the session must be followed" if detach else "--auto-approve: choose one"
        raise CommandError(f"--decisions cannot go with {other}")


# --- run ------------------------------------------------------------------------------------------


async def _dry_run(options: RunOptions) -> ExitCode:
    from starter.machine import repository_look
    from starter.views import plan_words, session_words

    repository, request, configuration = await make_request(options, os.environ)
    settings_for(options, configuration, repository.root)
    gates = request.config.gates
    if gates is None:
        names = [f"{name}, detected" for name in await repository_look.gates(repository)]
    else:
        names = [repository_look.gate_line(gate) for gate in gates]
    origins = {key: str(origin) for key, origin in configuration.origins.items()}
    lines = session_words.dry_run(request, repository.base, origins, names)
    agents = request.config.agents
    own = [] if request.plan is None else ["", *plan_words.plan(request.plan, agents)]
    write([*lines, *session_words.warnings(repository.warnings), *own])
    return ExitCode.COMPLETE


async def _queued(options: RunOptions, others: dict[str, bool]) -> ExitCode:
    from starter.console import json_output
    from starter.input.scheduled_goals import QUEUE, scheduled_goal
    from starter.machine import engine
    from starter.machine.own_settings import read_settings
    from starter.sessions.goal_queues import GoalQueues

    given = {**others, "--plan": options.plan is not None, "--decisions": options.decisions}
    if named := [name for name, is_given in given.items() if is_given]:
        raise CommandError(f"--queue cannot go with {named[0]}: its session starts without you")
    goal = await scheduled_goal(options, QUEUE)
    queues = GoalQueues(await engine.connected(read_settings()))
    answer = await queues.enqueue(goal.repository, [goal])
    if options.json:
        json_output.write_line(
            {"schema_version": json_output.SCHEMA_VERSION, **answer.model_dump()}
        )
    elif answer.added:
        write([f"queued as {answer.added[0]}; `{program()} queue list` shows the queue"])
    else:
        write([f"{answer.known[0]} is in the queue, set aside, or done already"])
    return ExitCode.COMPLETE


async def _detached(options: RunOptions, beginning: "Beginning") -> ExitCode:
    from starter.machine import engine
    from starter.views import safety_labels, session_words

    repository, request, configuration = await make_request(options, os.environ)
    settings = settings_for(options, configuration, repository.root)
    engine.check_workers(settings, request)
    if not await _is_served_elsewhere(settings):
        _check_sandbox(settings)
        beginning.is_in_background = True
        await engine.ensure_background(settings)
    client = await engine.connected(settings)
    beginning.session = request.session
    await _start(client, settings, request, json=options.json)
    if not options.json:
        # No one follows it here, so no one has said so yet.
        write(safety_labels.planned(request.config), session_words.style)
    return ExitCode.COMPLETE


async def _run(options: RunOptions, beginning: "Beginning", *, patient: bool) -> ExitCode:
    from starter.machine import engine
    from starter.views import worker_words

    repository, request, configuration = await make_request(options, os.environ)
    settings = settings_for(options, configuration, repository.root)
    engine.check_workers(settings, request)
    async with contextlib.AsyncExitStack() as stack:
        supervisor: Supervisor | None = None
        if not await _is_served_elsewhere(settings):
            _check_sandbox(settings)
            supervisor = await stack.enter_async_context(engine.running(settings))
        client = await engine.connected(settings)
        beginning.session = request.session
        await _start(client, settings, request, json=options.json)
        beginning.is_followed = True
        if supervisor and not supervisor.workers_ready.is_set() and not options.json:
            write(worker_words.WORKERS_START)
        watch = _watch(client, request, options, patient=patient)
        if options.json:
            return await watch.follow()
        return await _follow(watch, supervisor, request, settings.playbook)


async def _is_served_elsewhere(settings: "Settings") -> bool:
    from starter.machine import engine
    from starter.sessions.worker_presence import has_workers

    if not settings.has_external_server:
        return False
    return await has_workers(await engine.connected(settings))


def _watch(
    client: "Client", request: "SessionRequest", options: RunOptions, *, patient: bool
) -> "Watch":
    from starter.decisions.unattended import Unattended
    from starter.follow.watching import Watch
    from starter.input.yaml_files import read_decisions
    from starter.sessions.session_client import Sessions

    sessions = Sessions(client)
    unattended = None
    if options.decisions is not None:
        decisions = read_decisions(options.decisions)
        unattended = Unattended(sessions, request.session, decisions, options.decisions.name)
    return Watch(
        sessions, request.session, patient=patient, json=options.json, unattended=unattended
    )


async def _follow(
    watch: "Watch",
    supervisor: "Supervisor | None",
    request: "SessionRequest",
    playbook: Path | None,
) -> ExitCode:
    from starter.views import worker_words

    try:
        code = await watch.follow()
    except asyncio.CancelledError:
        goes_on = supervisor is None or not supervisor.supervises
        write(worker_words.detached(request.session, program(), playbook, goes_on=goes_on))
        raise
    if code is ExitCode.WAITING and supervisor is not None and supervisor.supervises:
        write(worker_words.rests(program(), playbook))
    return code


async def _start(
    client: "Client", settings: "Settings", request: "SessionRequest", *, json: bool
) -> None:
    from starter.console import json_output
    from starter.sessions.session_client import Sessions
    from starter.views import safety_labels, session_words
    from workers.temporal.connection import read_server_file

    await Sessions(client).start(request)
    if json:
        told = {
            "schema_version": json_output.SCHEMA_VERSION,
            "session": request.session,
            "scripted": safety_labels.is_scripted(request.config),
            # Which sandbox it is, only the workers know.
            "sandbox": "none" if request.config.sandbox == "none" else "",
        }
        json_output.write_line(told)
        return
    server = None if settings.has_external_server else read_server_file(settings)
    write(session_words.started(request.session, program(), server.ui if server else None))


def _check_sandbox(settings: "Settings") -> None:
    from starter.machine.system_programs import require_sandbox

    if settings.sandbox == "required":
        require_sandbox()
