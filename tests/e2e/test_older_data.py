"""A data directory of an earlier release opens, and its open session goes on.

`data_of_format_1.tar.xz` was written by the last commit before data directories had a version and
sessions had builds: one session of `tests/e2e/note_session.py` whose plan waits for its approval.
A format that is no longer written is kept here as such a file, with a row below.
"""

import json
import tarfile
from collections.abc import Generator
from pathlib import Path

import pytest

from starter.console.exit_codes import ExitCode
from tests.e2e.note_session import DEVELOPER, PLANNER, REVIEWER, NotePlace
from workers.hosting.data_version import DATA_VERSION, read_version

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(400)]

FORMATS = [Path(__file__).with_name("data_of_format_1.tar.xz")]


@pytest.fixture(params=FORMATS, ids=lambda path: path.name)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[NotePlace]:
    made = NotePlace(tmp_path, "", PLANNER, DEVELOPER, REVIEWER)
    with tarfile.open(request.param) as archive:
        archive.extractall(tmp_path, filter="data")
    yield made
    made.types("up", "--stop")


def test_a_session_of_an_earlier_release_goes_on(place: NotePlace) -> None:
    came = place.types("up", "--detach", "--playbook", str(place.playbook))
    assert came.returncode == ExitCode.COMPLETE, came.stderr
    assert read_version(place.settings.data_dir) == DATA_VERSION
    (listed,) = json.loads(place.types("ls", "--json").stdout)["sessions"]
    session = listed["session"]
    fits = place.types("replay", session)
    assert fits.returncode == ExitCode.COMPLETE, fits.stdout + fits.stderr
    approved = place.types("approve", "plan", "--session", session)
    assert approved.returncode == ExitCode.COMPLETE, approved.stdout + approved.stderr
    waits = place.types("watch", session, "--json")
    assert waits.returncode == ExitCode.WAITING, waits.stdout + waits.stderr
    (changeset,) = json.loads(place.types("status", session, "--json").stdout)["changesets"]
    assert changeset["state"] == "awaiting_approval"
    assert place.types("stop", session).returncode == ExitCode.COMPLETE
