"""`up`: keeps server and workers running, at a terminal or in the background."""

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from starter.console.exit_codes import ExitCode
from starter.console.terminal import command, write

if TYPE_CHECKING:
    from workers.settings import Settings


@command
async def up(
    *,
    playbook: Annotated[
        Path | None, typer.Option(help="Run a scripted model from this file, as in `run`.")
    ] = None,
    detach: Annotated[bool, typer.Option("--detach", help="Run in the background.")] = False,
    stop: Annotated[bool, typer.Option("--stop", help="End the server and the workers.")] = False,
) -> ExitCode:
    """Keep the bundled Temporal server and the workers running."""
    from starter.machine import engine, own_settings

    if stop:
        was_there = await engine.stop_supervisor(own_settings.read_settings())
        write(["ended" if was_there else "nothing was running here"])
    elif detach:
        await _up_in_background(_up_settings(playbook))
    else:
        await _up(_up_settings(playbook))
    return ExitCode.COMPLETE


def _up_settings(playbook: Path | None) -> "Settings":
    from starter.input.yaml_files import check_playbook
    from starter.machine import own_settings

    settings = own_settings.with_own_toolchains(
        own_settings.with_own_providers(own_settings.read_settings())
    )
    settings = own_settings.with_own_hosting(own_settings.with_own_registries(settings))
    if playbook is not None:
        check_playbook(playbook)
        settings = settings.evolve(playbook=playbook.resolve())
    return settings


async def _up(settings: "Settings") -> None:
    from starter.machine import engine
    from starter.views import session_words, worker_words
    from workers.liveness.sign_keeping import passed_on
    from workers.server.supervisor import read_state
    from workers.temporal.connection import read_server_file

    state = read_state(settings)
    kept = settings if state is None else state
    if state is not None:
        write([f"process {state.pid} keeps server and workers already; standing by until it ends"])
    async with engine.running(settings) as supervisor:
        server = read_server_file(settings)
        if server is not None and not settings.has_external_server:
            write(worker_words.serving(server.address, server.ui))
        write(worker_words.workers_marks(kept.playbook, kept.sandbox), session_words.style)
        await supervisor.workers_ready.wait()
        write(worker_words.WORKERS_READY)
        async with passed_on(settings, os.environ):
            await asyncio.Event().wait()


async def _up_in_background(settings: "Settings") -> None:
    from starter.machine import engine
    from starter.views import session_words, worker_words

    engine.check_workers(settings)
    state = await engine.ensure_background(settings)
    write([f"process {state.pid} keeps server and workers; `up --stop` ends it"])
    write(worker_words.workers_marks(state.playbook, state.sandbox), session_words.style)
