"""Commands that start something: `run`, `up`."""

import asyncio
import contextlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from starter.commands.shared import program
from starter.errors import CommandError
from starter.exit_codes import ExitCode
from starter.terminal import execute, write

if TYPE_CHECKING:
    from temporalio.client import Client

    from starter.configuration_layers import Sources
    from starter.preflight import Repository
    from workers.settings import Settings
    from workers.supervisor import Supervisor
    from workflows.domain.config import SessionConfig
    from workflows.domain.session import SessionRequest


@dataclass(frozen=True)
class RunOptions:
    """What a person typed after `run`."""

    goal: str
    repo: Path
    config: Path | None
    base: str | None
    pacing: str | None
    auto_approve: bool
    playbook: Path | None


def run(  # noqa: PLR0913 (one parameter for each thing that a person may type)
    goal: Annotated[str, typer.Argument(help="What you want, in a sentence or a page.")],
    *,
    repo: Annotated[Path, typer.Option(help="The repository, or a folder in it.")] = Path(),
    config: Annotated[
        Path | None, typer.Option(help="Instead of the repository's blueflame.yaml.")
    ] = None,
    base: Annotated[
        str | None, typer.Option(help="Branch, tag or commit to start from; left out: HEAD.")
    ] = None,
    pacing: Annotated[
        Literal["wave", "flow"] | None, typer.Option(help="When dependants start.")
    ] = None,
    auto_approve: Annotated[
        bool,
        typer.Option("--auto-approve", help="Ask nobody; merge what is green, stop at the cap."),
    ] = False,
    playbook: Annotated[
        Path | None, typer.Option(help="A scripted model plays this file; nothing is paid.")
    ] = None,
    detach: Annotated[
        bool, typer.Option("--detach", help="Leave `up` in the background and return.")
    ] = False,
    wait: Annotated[
        bool, typer.Option("--wait", help="Without a terminal, go on while a person is needed.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be done; start and send nothing.")
    ] = False,
) -> None:
    """Start a session for GOAL, and follow it."""
    options = RunOptions(goal, repo, config, base, pacing, auto_approve, playbook)
    if dry_run:
        execute(_dry_run(options))
    execute(_detached(options) if detach else _run(options, patient=wait))


def up(
    *,
    detach: Annotated[bool, typer.Option("--detach", help="Stay in the background.")] = False,
    stop: Annotated[bool, typer.Option("--stop", help="End what was started so.")] = False,
) -> None:
    """Keep the bundled Temporal server and the workers running."""
    if stop:
        execute(_stop_background())
    execute(_up_in_background() if detach else _up())


# --- run ------------------------------------------------------------------------------------------


async def _dry_run(options: RunOptions) -> ExitCode:
    from starter import preflight, views

    repository, request, origins = await _request(options)
    gates = request.config.gates
    if gates is None:
        names = [f"{name}, detected" for name in await preflight.gates(repository)]
    else:
        names = [f"{gate.name} ({' '.join(gate.argv)})" for gate in gates]
    write(views.dry_run(request, origins, names))
    return ExitCode.COMPLETE


async def _detached(options: RunOptions) -> ExitCode:
    from starter import engine

    _, request, _ = await _request(options)
    settings = _settings(options, request)
    _check_playbook(settings)
    if not await _is_served_elsewhere(settings):
        await engine.ensure_background(settings)
    await _start(await engine.connected(settings), settings, request)
    return ExitCode.COMPLETE


async def _run(options: RunOptions, *, patient: bool) -> ExitCode:
    from starter import engine, views

    _, request, _ = await _request(options)
    settings = _settings(options, request)
    _check_playbook(settings)
    async with contextlib.AsyncExitStack() as stack:
        supervisor: Supervisor | None = None
        if not await _is_served_elsewhere(settings):
            supervisor = await stack.enter_async_context(engine.running(settings))
        client = await engine.connected(settings)
        await _start(client, settings, request)
        if supervisor is not None and not supervisor.workers_ready.is_set():
            write(views.WORKERS_START)
        return await _follow(client, supervisor, request, patient=patient)


async def _is_served_elsewhere(settings: "Settings") -> bool:
    from starter import engine

    if not settings.has_external_server:
        return False
    return await engine.has_workers(await engine.connected(settings))


async def _follow(
    client: "Client", supervisor: "Supervisor | None", request: "SessionRequest", *, patient: bool
) -> ExitCode:
    from starter import views
    from starter.sessions import Sessions
    from starter.watching import Watch

    watch = Watch(Sessions(client), request.session, program(), patient=patient)
    try:
        code = await watch.follow()
    except asyncio.CancelledError:
        goes_on = supervisor is None or not supervisor.supervises
        write(views.detached(request.session, program(), goes_on=goes_on))
        raise
    if code is ExitCode.WAITING and supervisor is not None and supervisor.supervises:
        write(views.rests(program()))
    return code


async def _start(client: "Client", settings: "Settings", request: "SessionRequest") -> None:
    from starter import views
    from starter.sessions import Sessions
    from workers.temporal import read_server_file

    await Sessions(client).start(request)
    server = None if settings.has_external_server else read_server_file(settings)
    write(views.started(request.session, program(), server.ui if server else None))


async def _request(
    options: RunOptions,
) -> "tuple[Repository, SessionRequest, dict[str, str]]":
    from starter import preflight
    from starter.sessions import make_id
    from workflows.domain.session import SessionRequest

    if not options.goal.strip():
        raise CommandError("the goal is empty; say what you want in a sentence")
    if options.playbook is not None and not options.playbook.is_file():
        raise CommandError(f"playbook {str(options.playbook)!r} is no file")
    repository = await preflight.examine(options.repo.absolute(), options.base)
    config, origins = _configuration(options, repository.root)
    request = SessionRequest(
        session=make_id(),
        goal=options.goal,
        repository=str(repository.root),
        base=options.base,
        config=config,
    )
    return repository, request, origins


def _configuration(options: RunOptions, root: Path) -> "tuple[SessionConfig, dict[str, str]]":
    from starter.configuration import load_configuration
    from starter.configuration_errors import ConfigurationError

    try:
        configuration = load_configuration(sources(options, root), os.environ)
    except ConfigurationError as error:
        raise CommandError(str(error)) from error
    origins = {key: str(origin) for key, origin in configuration.origins.items()}
    return configuration.session, origins


def sources(options: RunOptions, root: Path | None) -> "Sources":
    """Return where the settings of a session are looked for; without a repository None."""
    from starter.configuration import user_file
    from starter.configuration_layers import Sources

    by = {"pacing": "--pacing"}
    if options.auto_approve:
        decided = ("approvals.plan", "approvals.changeset", "on_cap")
        by |= dict.fromkeys(decided, "--auto-approve")
    return Sources(
        user=user_file(),
        repository=root,
        config=options.config,
        flags=_flags(options),
        options=by,
        playbook=options.playbook is not None,
    )


def _flags(options: RunOptions) -> dict[str, object]:
    flags: dict[str, object] = {}
    if options.pacing is not None:
        flags["pacing"] = options.pacing
    if options.auto_approve:
        flags |= {
            "approvals.plan": "auto",
            "approvals.changeset": "auto_if_green",
            # Nobody watches: a pause at the cap would wait for ever.
            "on_cap": "stop",
        }
    return flags


def _settings(options: RunOptions, request: "SessionRequest") -> "Settings":
    from starter.engine import read_settings

    changes: dict[str, object] = {}
    if options.playbook is not None:
        changes["playbook"] = options.playbook.absolute()
    if request.config.sandbox == "none":
        changes["sandbox"] = "none"
    return read_settings().model_copy(update=changes)


def _check_playbook(settings: "Settings") -> None:
    from workers.supervisor import read_state

    state = read_state(settings)
    if state is not None and settings.playbook not in {None, state.playbook}:
        raise CommandError(
            f"process {state.pid} keeps workers here that do not play {str(settings.playbook)!r}; "
            "end it first (`up --stop`), or use another BLUEFLAME_DATA_DIR"
        )


# --- up -------------------------------------------------------------------------------------------


async def _up() -> ExitCode:
    from starter import engine, views
    from workers.supervisor import read_state
    from workers.temporal import read_server_file

    settings = engine.read_settings()
    state = read_state(settings)
    if state is not None:
        write(views.standing_by(state.pid))
    async with engine.running(settings) as supervisor:
        server = read_server_file(settings)
        if server is not None and not settings.has_external_server:
            write(views.serving(server.address, server.ui))
        await supervisor.workers_ready.wait()
        write(views.WORKERS_READY)
        await asyncio.Event().wait()
    return ExitCode.COMPLETE


async def _up_in_background() -> ExitCode:
    from starter import engine, views
    from workers.supervisor import read_state

    settings = engine.read_settings()
    await engine.ensure_background(settings)
    state = read_state(settings)
    assert state is not None
    write(views.in_background(state.pid))
    return ExitCode.COMPLETE


async def _stop_background() -> ExitCode:
    from starter import engine, views

    stopped = await engine.stop_supervisor(engine.read_settings())
    write(views.stopped(was_there=stopped))
    return ExitCode.COMPLETE
