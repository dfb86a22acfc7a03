"""`export` and `history --events`: everything of a session, from its histories."""

import json
import os
import zipfile
from pathlib import Path

import pytest
from temporalio.client import WorkflowHistory

from starter.reports.session_archive import write_archive
from starter.sessions.session_client import Sessions
from starter.views import event_words
from tests.fakes.world import World, planned
from tests.theatre import Theatre
from workers.settings import Settings
from workers.telemetry.event_list import list_events, read_histories
from workflows.domain.ids import SessionId

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.mark.slow
async def test_an_archive_tells_a_session_without_a_server(
    theatre: Theatre, tmp_path: Path
) -> None:
    async with theatre.session(World(planned({"id": "a"}))) as session:
        await session.result()
        name = SessionId(session.handle.id.removeprefix("session/"))
    settings, path = Settings(data_dir=tmp_path), tmp_path / "x.zip"
    sessions = Sessions(theatre.client)
    await write_archive(sessions, theatre.client, name, settings, path)
    assert path.stat().st_mode & 0o777 == 0o600
    with zipfile.ZipFile(path) as archive:
        content = {each: archive.read(each).decode() for each in archive.namelist()}
    assert {"report.html", "state.json", "plan.json", "events.jsonl"} < content.keys()
    assert "diffs/a.diff" in content
    assert json.loads(content["state.json"])["session"] == name
    assert [each["id"] for each in json.loads(content["plan.json"])["tasks"]] == ["a"]
    assert "<html" in content["report.html"]
    histories = [text for each, text in content.items() if each.startswith("histories/")]
    events = [json.loads(line) for line in content["events.jsonl"].splitlines()]
    counted = [len(WorkflowHistory.from_json("any", text).events) for text in histories]
    assert sum(counted) == len(events)
    with pytest.raises(FileExistsError):
        await write_archive(sessions, theatre.client, name, settings, path)
    assert os.listdir(tmp_path) == ["x.zip"]


@pytest.mark.slow
async def test_events_are_listed_in_order_and_by_name(theatre: Theatre) -> None:
    async with theatre.session(World(planned({"id": "a"}))) as session:
        await session.result()
        name = session.handle.id.removeprefix("session/")
    events = list_events(await read_histories(theatre.client, name))
    assert [each.at for each in events] == sorted(each.at for each in events)
    assert (events[0].type, events[0].what) == ("workflow_execution_started", "SessionWorkflow")
    ended = [each for each in events if each.type == "activity_task_completed"]
    assert {"models.call", "worktrees.finish", "landing.deliver"} < {each.what for each in ended}
    assert all(each.refers_to for each in ended)
    lines = list(event_words.lines(events))
    assert len(lines) == len(events)
    assert any("activity_task_completed models.call (of " in line for line in lines)
