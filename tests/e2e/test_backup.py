"""A backup of a running session goes on in another data directory, and repeats no settled call."""

import asyncio
import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from temporalio.api.enums.v1 import EventType

from starter.console.exit_codes import ExitCode
from tests.e2e.note_session import PLANNER, REVIEWER, NotePlace
from tests.e2e.processes import ROOT, blueflame, environment, is_alive, kill
from tests.waiting import until_blocking
from workers.server.supervisor import read_state
from workers.settings import Settings
from workers.temporal.connection import connect

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(400)]

DEVELOPER = """
  - role: developer
    turns:
      - calls: [{write: {path: note.txt, content: "a note\\n"}}]
      - calls: [{bash: {command: "%(wait)s"}}]
      - calls: [{submit: {summary: "It is there."}}]
"""


class Machine:
    """A data directory with workers."""

    def __init__(self, place: NotePlace, directory: Path) -> None:
        self.place = place
        self.settings = Settings(data_dir=directory, temporal_port=0, ui_port=0, sandbox="none")

    def types(self, *arguments: str, code: ExitCode = ExitCode.COMPLETE) -> str:
        done = blueflame(self.settings, *arguments)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    def up(self) -> None:
        self.types("up", "--detach", "--playbook", str(self.place.playbook))

    def begin(self) -> str:
        """Start a session in the background; return its id."""
        place = self.place
        options = ("--repo", str(place.repository), "--config", str(place.config))
        command = (sys.executable, "-m", "starter", "run", "A note", "--json", *options)
        played = ("--playbook", str(place.playbook))
        variables = environment(self.settings)
        with subprocess.Popen(
            (*command, *played), env=variables, cwd=ROOT, stdout=subprocess.PIPE, text=True
        ) as run:
            assert run.stdout is not None
            said = json.loads(run.stdout.readline())
            run.send_signal(signal.SIGINT)
            run.stdout.read()
        return str(said["session"])

    def lose(self) -> None:
        """Kill everything, and wipe the disk."""
        state = read_state(self.settings)
        assert state is not None
        kill(state.pid)
        until_blocking(lambda: not is_alive(state.pid), "the supervisor is gone")
        until_blocking(lambda: read_state(self.settings) is None, "no one supervises")
        shutil.rmtree(self.settings.data_dir)

    def calls(self, session: str) -> list[str]:
        """Return the id of each model call that was settled, by agent."""

        async def read() -> list[str]:
            client = await connect(self.settings)
            query = f'WorkflowId STARTS_WITH "session/{session}/" AND WorkflowType="AgentWorkflow"'
            return [
                f"{each.id} {event.activity_task_scheduled_event_attributes.activity_id}"
                async for each in client.list_workflows(query)
                for event in (await client.get_workflow_handle(each.id).fetch_history()).events
                if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED
                and event.activity_task_scheduled_event_attributes.activity_type.name
                == "models.call"
            ]

        return asyncio.run(read())


@pytest.fixture
def machines(tmp_path: Path) -> Generator[tuple[Machine, Machine]]:
    at, go = tmp_path / "at", tmp_path / "go"
    wait = f"touch {at}; for i in $(seq 900); do [ -e {go} ] && break; sleep 0.1; done"
    waits = DEVELOPER % {"wait": wait}
    place = NotePlace(
        tmp_path, "approvals: {plan: auto, unjudged: allow}", PLANNER, waits, REVIEWER
    )
    first, second = Machine(place, tmp_path / "data"), Machine(place, tmp_path / "other")
    yield first, second
    for each in (first, second):
        blueflame(each.settings, "up", "--stop")


def test_a_running_session_goes_on_from_a_backup(
    machines: tuple[Machine, Machine], tmp_path: Path
) -> None:
    first, second = machines
    first.up()
    place = first.place
    running = first.begin()
    until_blocking((tmp_path / "at").exists, "the agent's command runs")
    before = first.calls(running)
    file = tmp_path / "backup.tar"
    assert "later work may be repeated" in first.types("backup", str(file))
    assert file.stat().st_mode & 0o077 == 0
    first.lose()
    (tmp_path / "go").touch()

    second.types("restore", str(file))
    second.up()
    assert json.loads(second.types("ls", "--json"))["sessions"][0]["session"] == running
    second.types("watch", running, "--json", code=ExitCode.WAITING)
    second.types("approve", "note", "--session", running)
    second.types("watch", running, "--json")
    after = second.calls(running)
    assert set(before) < set(after)
    assert len(after) == len(set(after)) == 5  # planner 1, developer 3, reviewer 1
    assert place.branches() == [f"blueflame/{running}", "main"]
