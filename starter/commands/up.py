"""`up`: keeps server and workers running, at a terminal or in the background."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from starter.console.exit_codes import ExitCode
from starter.console.terminal import execute, write

if TYPE_CHECKING:
    from workers.settings import Settings


def up(
    *,
    playbook: Annotated[
        Path | None, typer.Option(help="Run a scripted model from this file, as in `run`.")
    ] = None,
    detach: Annotated[bool, typer.Option("--detach", help="Run in the background.")] = False,
    stop: Annotated[bool, typer.Option("--stop", help="Stop what runs in the background.")] = False,
) -> None:
    """Keep the bundled Temporal server and the workers running."""
    if stop:
        execute(_stop_background())
    execute(_up_in_background(playbook) if detach else _up(playbook))


def _up_settings(playbook: Path | None) -> "Settings":
    from starter.input.run_arguments import check_playbook
    from starter.machine import engine

    settings = engine.with_own_toolchains(engine.with_own_providers(engine.read_settings()))
    settings = engine.with_own_registries(settings)
    if playbook is not None:
        check_playbook(playbook)
        settings = settings.evolve(playbook=playbook.resolve())
    return settings


async def _up(playbook: Path | None) -> ExitCode:
    from starter.machine import engine
    from starter.views import session_words, worker_words
    from workers.server.supervisor import read_state
    from workers.temporal.connection import read_server_file

    settings = _up_settings(playbook)
    state = read_state(settings)
    kept = settings if state is None else state
    if state is not None:
        write(worker_words.standing_by(state.pid))
    async with engine.running(settings) as supervisor:
        server = read_server_file(settings)
        if server is not None and not settings.has_external_server:
            write(worker_words.serving(server.address, server.ui))
        write(worker_words.workers_marks(kept.playbook, kept.sandbox), session_words.style)
        await supervisor.workers_ready.wait()
        write(worker_words.WORKERS_READY)
        await asyncio.Event().wait()
    return ExitCode.COMPLETE


async def _up_in_background(playbook: Path | None) -> ExitCode:
    from starter.machine import engine
    from starter.views import session_words, worker_words

    settings = _up_settings(playbook)
    engine.check_workers(settings)
    state = await engine.ensure_background(settings)
    write(worker_words.in_background(state.pid))
    write(worker_words.workers_marks(state.playbook, state.sandbox), session_words.style)
    return ExitCode.COMPLETE


async def _stop_background() -> ExitCode:
    from starter.machine import engine
    from starter.views import worker_words

    stopped = await engine.stop_supervisor(engine.read_settings())
    write(worker_words.stopped(was_there=stopped))
    return ExitCode.COMPLETE
