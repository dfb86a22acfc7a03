"""`export`: one ZIP file that tells a session without a server.

    report.html           the report
    state.json            what `status --json` writes
    plan.json             the plan in force; absent without one
    events.jsonl          what `history --events --json` lists, one event a line
    histories/N.json      Temporal's own form of each history, for the Web UI and for replay
    diffs/TASK.diff       the newest validated work of each task

Payloads in the histories are as Temporal holds them: large ones stay in the store, and encrypted
ones stay encrypted.
"""

import os
import zipfile
from typing import TYPE_CHECKING

from starter.console.program_name import program
from starter.reports.page import render
from starter.reports.report_facts import Facts, gather, plan_in_force, with_diffs
from workers.telemetry.event_list import list_events, read_histories

if TYPE_CHECKING:
    from pathlib import Path

    from temporalio.client import Client

    from starter.sessions.session_client import Sessions
    from workers.settings import Settings
    from workflows.domain.ids import SessionId


async def write_archive(
    sessions: "Sessions", client: "Client", session: "SessionId", settings: "Settings", path: "Path"
) -> None:
    """Write a session's archive to a new file, readable by its owner only.

    Args:
        sessions: reads views.
        client: reads histories.
        session: its id.
        settings: of this process: where the store of diffs is.
        path: is written whole or not at all.

    Raises:
        CommandError: there is no such session.
        FileExistsError: the file exists.
        OSError: it cannot be written.
    """
    facts = await with_diffs(await gather(sessions, session), settings)
    beside = path.with_name(f".{path.name}.new")
    descriptor = os.open(beside, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
    try:
        with (
            os.fdopen(descriptor, "wb") as file,
            zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive,
        ):
            _add_told(archive, facts)
            histories = await read_histories(client, session)
            events = list_events(histories)
            lines = "".join(f"{each.model_dump_json()}\n" for each in events)
            archive.writestr("events.jsonl", lines)
            for number, history in enumerate(histories, 1):
                archive.writestr(f"histories/{number}.json", history.to_json())
        os.link(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def _add_told(archive: zipfile.ZipFile, facts: Facts) -> None:
    archive.writestr("report.html", render(facts, program()))
    archive.writestr("state.json", facts.view.model_dump_json(indent=2))
    plan = plan_in_force(facts)
    if plan is not None:
        archive.writestr("plan.json", plan.model_dump_json(indent=2))
    for task, diff in facts.diffs.items():
        left_out = f"# {diff.left_out}\n" if diff.left_out else ""
        archive.writestr(f"diffs/{task}.diff", f"{left_out}{diff.text}")
