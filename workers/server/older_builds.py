"""Workers for older builds: after an upgrade they finish the sessions that those builds started.

Only role `workflows` is bound to a build, so one process for each build is enough. It runs the
code that `workers.versions.kept_code` kept, as long as the server has open workflows of the build.
"""

import asyncio
import logging
import os
from collections.abc import Callable
from typing import Final

from temporalio.client import Client
from temporalio.service import RPCError

from workers.server.restarted_processes import Program, keep_running
from workers.settings import Settings
from workers.temporal.connection import connect
from workers.temporal.temporal_errors import TemporalUnavailableError
from workers.versions import kept_code
from workers.versions.deployment import builds_in_use
from workflows.policy.text.log_events import log_event

_log = logging.getLogger(__name__)

_LOOK_SECONDS: Final = 30.0


class OlderBuilds:
    """Keeps a worker for each older build that has open workflows."""

    def __init__(self, settings: Settings, program: Callable[[str], Program]) -> None:
        """Start nothing yet.

        Args:
            settings: the supervisor's.
            program: returns what runs the workflows of a build.
        """
        self._settings = settings
        self._program = program
        self._running: dict[str, asyncio.Task[None]] = {}
        self._missing: frozenset[str] = frozenset()

    async def keep(self, ready: asyncio.Event) -> None:
        """Run for ever; begin when this supervisor's own workers are ready.

        Args:
            ready: set when they are; by then their build is the current one.
        """
        await asyncio.to_thread(kept_code.keep_code, self._settings)
        await ready.wait()
        client: Client | None = None
        try:
            while True:
                try:
                    client = client or await connect(self._settings)
                    await self._follow(await builds_in_use(client))
                except (RPCError, TemporalUnavailableError) as error:
                    log_event(_log, "builds_unknown", reason=error)
                await asyncio.sleep(_LOOK_SECONDS)
        finally:
            await self._end(list(self._running))

    async def _follow(self, needed: frozenset[str]) -> None:
        """Start what is needed and not running, and end what is no longer needed."""
        await self._end([build for build in self._running if build not in needed])
        kept = kept_code.kept_builds(self._settings)
        for build in sorted((needed & kept) - self._running.keys()):
            log_event(_log, "build_goes_on", build=build)
            work = keep_running(self._program(build), lambda _line: None)
            self._running[build] = asyncio.create_task(work)
        for build in await asyncio.to_thread(kept_code.remove_code, self._settings, needed):
            log_event(_log, "build_removed", build=build)
        missing = needed - kept
        for build in sorted(missing - self._missing):
            log_event(_log, "build_missing", build=build)
        self._missing = missing

    async def _end(self, builds: list[str]) -> None:
        ending = [self._running.pop(build) for build in builds]
        for each in ending:
            each.cancel()
        if ending:
            await asyncio.wait(ending)


def environment_of(settings: Settings, build: str, given: dict[str, str]) -> dict[str, str]:
    """Return the environment of a worker of an older build.

    Traces and metrics of this machine come from the current build's worker.

    Args:
        settings: the supervisor's.
        build: the older one.
        given: the environment of the current build's worker.
    """
    quiet = {
        name: value
        for name, value in given.items()
        if not name.startswith("OTEL_") and name != "BLUEFLAME_METRICS_ADDRESS"
    }
    return quiet | {
        "PYTHONPATH": os.fspath(kept_code.builds_dir(settings) / build),
        "BLUEFLAME_BUILD": build,
        "BLUEFLAME_TAKES_NEW": "false",
    }
