"""Writing reports: whole files of their owner; what prevents one is said, and ends nothing."""

import stat
import time
from pathlib import Path
from typing import Any, cast

import pytest

from activities.adapters.blob_store import LocalStore
from starter.reports.report_facts import Facts, with_diffs
from starter.reports.report_files import closing_lines, usual_place, write_report
from starter.sessions.session_client import Sessions
from tests.report_reader import read_page
from tests.unit.starter.reports.sessions import session
from workers.settings import Settings
from workers.telemetry.session_record import ItemSeen
from workers.telemetry.traces.span_values import Trace
from workflows.domain.ids import SessionId
from workflows.domain.session.wave_values import Validated

SESSION = SessionId("01m8fq2y3hnxcqs838w6qy9739")


class Told:
    """A client whose session is invented."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts

    async def trace(self, _session: str) -> Any:
        return self._facts.trace

    async def record(self, _session: str) -> Any:
        return self._facts.record

    async def view(self, _session: str) -> Any:
        return self._facts.view


def client() -> Sessions:
    return cast("Sessions", Told(session(2)))


async def test_a_report_is_written_into_the_data_directory_for_its_owner_alone(
    tmp_path: Path,
) -> None:
    settings = Settings(data_dir=tmp_path / "data")
    path = await write_report(client(), SESSION, settings)
    assert path == usual_place(settings, SESSION) == tmp_path / f"data/reports/{SESSION}.html"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    page = read_page(path.read_text())
    assert page.figure("outcome") == "complete"
    assert "its diff is not in the store" not in page.text
    assert "the session kept no diff of it" in page.text


class Ending(Told):
    """A session that ends while it is read."""

    def __init__(self) -> None:
        facts = session(2)
        first, *others = facts.trace.spans
        spans = (first.evolve(ended=None, outcome="running"), *others)
        trace = Trace(trace_id=facts.trace.trace_id, session=facts.trace.session, spans=spans)
        super().__init__(Facts(facts.view, trace, facts.record, facts.at))
        self.ended_at = 0.0

    async def view(self, _session: str) -> Any:
        self.ended_at = time.time()
        return await super().view(_session)


async def test_a_report_from_before_the_end_is_not_taken_for_one_from_after_it(
    tmp_path: Path,
) -> None:
    ending = Ending()
    path = await write_report(cast("Sessions", ending), SESSION, Settings(data_dir=tmp_path))
    assert path.stat().st_mtime < ending.ended_at


async def test_a_person_may_name_another_file(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "data")
    path = await write_report(client(), SESSION, settings, tmp_path / "mine.html")
    assert path == tmp_path / "mine.html"
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("breaks", ["disk", "histories"])
async def test_what_prevents_a_report_is_said_and_ends_nothing(tmp_path: Path, breaks: str) -> None:
    (tmp_path / "data").write_text("a file where the folder would be")
    found = client() if breaks == "disk" else cast("Sessions", object())
    lines = await closing_lines(found, SESSION, Settings(data_dir=tmp_path / "data"))
    assert len(lines) == 1
    assert lines[0].startswith("Report     not written (")
    assert lines[0].endswith(f"`blueflame report {SESSION}` tries again")


async def test_the_end_of_a_session_names_its_report(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    lines = await closing_lines(client(), SESSION, settings)
    assert lines == [f"Report     {usual_place(settings, SESSION)}"]


@pytest.mark.parametrize(
    ("text", "shown", "left_out"),
    [
        ("+one\n+two\n", "+one\n+two\n", ""),
        ("+x\n" * 100_000, "+x\n" * 66_665 + "+x", "100003 of 300000 characters"),
        (None, "", "its diff is not in the store of this machine"),
    ],
    ids=["whole", "cut", "elsewhere"],
)
async def test_a_diff_is_shown_up_to_a_size_if_the_store_has_it(
    tmp_path: Path, text: str | None, shown: str, left_out: str
) -> None:
    facts, settings = session(1), Settings(data_dir=tmp_path)
    folder = settings.store_dir if text is not None else tmp_path / "elsewhere"
    folder.mkdir()
    store = LocalStore(folder)
    digest = await store.put((text or "+gone").encode())
    (seen,) = facts.record.items
    assert isinstance(seen.item, Validated)
    item = Validated.model_validate({**dict(seen.item), "diff": digest})
    facts.record.items[:] = [ItemSeen(at=seen.at, item=item)]
    found = (await with_diffs(facts, settings)).diffs
    (diff,) = found.values()
    assert diff.text == shown
    assert left_out in diff.left_out
    assert bool(diff.left_out) is bool(left_out)
