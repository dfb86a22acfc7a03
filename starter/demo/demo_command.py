"""`demo`: the main job, offline, on a sample repository, with a scripted model."""

import asyncio
import os
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from starter.console.command_errors import CommandError
from starter.console.exit_codes import ExitCode
from starter.console.program_name import program
from starter.console.terminal import command, console

if TYPE_CHECKING:
    from starter.demo.stage import Stage
    from workers.server.supervisor import Supervisor
    from workers.settings import Settings
    from workflows.domain.session.session_start import SessionRequest

_WORKERS_SECONDS = 180


@command
async def demo(
    *,
    pacing: Annotated[
        Literal["wave", "flow"],
        typer.Option(
            help="Start a task when its dependencies are merged (wave) or validated (flow)."
        ),
    ] = "wave",
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep server and workers running until Ctrl-C.")
    ] = False,
) -> ExitCode:
    """Run a session on a sample, offline, with a scripted model."""
    from starter.demo import stage, wording
    from starter.machine import engine, own_settings

    teller = _Teller()
    teller.plain(wording.introduction(own_settings.read_settings().sandbox))
    played = await stage.set_up()
    teller.course(wording.begun(played, await stage.run_suite(played, "main")))
    settings = settings_of(played)
    async with engine.running(settings) as supervisor:
        await _workers(supervisor, settings)
        code = await _play(played, settings, pacing, teller)
        if keep:
            teller.plain(wording.STAYS)
            await _until_told()
    return code


class _Teller:
    """Prints lines, those of the course with the seconds since the start."""

    def __init__(self) -> None:
        self._out = console()
        self._began = time.monotonic()

    @property
    def elapsed_s(self) -> float:
        return time.monotonic() - self._began

    def course(self, lines: Iterable[str]) -> None:
        for line in lines:
            self._print(f"{self.elapsed_s:6.1f} s  {line}")

    def plain(self, lines: Iterable[str]) -> None:
        for line in lines:
            self._print(line)

    def _print(self, line: str) -> None:
        # Links and commands are copied: a terminal may wrap them, but this program never does.
        self._out.print(line, soft_wrap=True)


async def _play(
    played: "Stage", settings: "Settings", pacing: Literal["wave", "flow"], teller: _Teller
) -> ExitCode:
    from starter.demo import evidence, stage, wording
    from starter.demo.course import Course
    from starter.machine import engine
    from starter.reports import report_files
    from starter.sessions.session_client import Sessions
    from starter.views import session_words
    from workers.temporal.connection import read_server_file

    client = await engine.connected(settings)
    sessions = Sessions(client)
    request = request_of(played, settings, pacing)
    server = read_server_file(settings)
    page = session_words.web_page(server.ui, request.session) if server else None
    await sessions.start(request)
    watched = [wording.step("", page)] if page else []
    teller.course([wording.step("session", request.session), *watched])
    view = await Course(sessions, request.session, teller.course).follow()
    proof = wording.Proof(
        session=view,
        seen=await evidence.gather(client, request.session),
        suite=await stage.run_suite(played, view.branch) if view.branch else None,
    )
    teller.plain(wording.ending(proof, played, teller.elapsed_s))
    teller.plain(wording.look_further(played, request.session, page, program()))
    teller.plain(["", *await report_files.closing_lines(sessions, request.session, settings)])
    return ExitCode.COMPLETE if proof.is_whole else ExitCode.FAILED


def settings_of(played: "Stage") -> "Settings":
    """Return separate settings for the demo's server and workers, whatever else runs here."""
    from starter.machine.own_settings import read_settings

    for name in [name for name in os.environ if name.startswith("TEMPORAL_")]:
        del os.environ[name]
    return read_settings().evolve(data_dir=played.data_dir, playbook=played.playbook, server=None)


def request_of(
    played: "Stage", settings: "Settings", pacing: Literal["wave", "flow"]
) -> "SessionRequest":
    """Return what starts the session of the demo."""
    from starter.configuration.model_routes import PLAYBOOK_ROUTES
    from starter.sessions.short_ids import make_id
    from workflows.domain.session.session_config import SessionConfig
    from workflows.domain.session.session_modes import Pacing
    from workflows.domain.session.session_start import SessionRequest

    config = SessionConfig(routes=PLAYBOOK_ROUTES, pacing=Pacing(pacing), sandbox=settings.sandbox)
    return SessionRequest(
        session=make_id(),
        goal=played.goal,
        repository=str(played.repository),
        base=None,
        config=config,
    )


async def _workers(supervisor: "Supervisor", settings: "Settings") -> None:
    try:
        async with asyncio.timeout(_WORKERS_SECONDS):
            await supervisor.workers_ready.wait()
    except TimeoutError as error:
        raise CommandError(
            f"the workers do not come up; see {str(settings.logs_dir)!r}", ExitCode.UNAVAILABLE
        ) from error


async def _until_told() -> None:
    """Wait for Ctrl-C or SIGTERM, the ordinary end here."""
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        task = asyncio.current_task()
        assert task is not None
        task.uncancel()
