"""Draws the live view of a session of the demo, as `scripts/watch_picture` describes."""

import asyncio
import re
from pathlib import Path
from typing import Any, Final

from textual.pilot import Pilot

from starter.demo import demo_command, stage
from starter.demo.course import Course
from starter.live.live_app import LiveApp
from starter.live.live_source import SessionSource
from starter.machine import engine
from starter.sessions.session_client import Sessions
from starter.sessions.shown_session import ShownSession
from workflows.domain.ids import SessionId
from workflows.domain.task import TaskState

PLACE: Final = Path(__file__).parents[1] / "docs" / "images" / "watch.svg"
_SIZE: Final = (118, 26)
_LOOK_SECONDS: Final = 0.2
_FONT_FACE: Final = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)
"""Textual's pictures load their font from the network; ours must not."""


async def draw() -> str:
    """Play the demo's session, and return the picture of the moment with most going on."""
    played = await stage.set_up()
    settings = demo_command.settings_of(played)
    async with engine.running(settings):
        sessions = Sessions(await engine.connected(settings))
        request = demo_command.request_of(played, settings, "wave")
        await sessions.start(request)
        course = asyncio.create_task(
            Course(sessions, request.session, lambda _lines: None).follow()
        )
        app = LiveApp(SessionSource(sessions, request.session, settings), "you")
        async with app.run_test(size=_SIZE) as pilot:
            picture = await _at_work(app, pilot, sessions, request.session)
        await course
    return _FONT_FACE.sub("", picture)


async def _at_work(app: LiveApp, pilot: Pilot[Any], sessions: Sessions, session: SessionId) -> str:
    while True:
        view = await sessions.view(session)
        if _is_telling(view):
            await pilot.pause(1)  # the view looks twice a second
            return app.export_screenshot(title=f"blueflame watch {session}")
        await asyncio.sleep(_LOOK_SECONDS)


def _is_telling(view: ShownSession) -> bool:
    states = [task.state for task in view.tasks]
    return TaskState.MERGED in states and TaskState.DEVELOPING in states


if __name__ == "__main__":
    PLACE.write_text(asyncio.run(draw()))
    print(f"wrote {PLACE}")
