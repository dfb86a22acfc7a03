"""`reviews.evidence`: where cited words stand, and whether the work changed those lines."""

from pathlib import Path

import pytest
from temporalio.testing import ActivityEnvironment

from activities.adapters.blob_store import MemoryStore
from activities.adapters.git.host_git import GitHostRepository
from activities.adapters.git.repository_locks import exclusive
from activities.adapters.sandbox.bubblewrap import BubblewrapSandbox
from activities.adapters.snapshots.snapshot_store import LocalSnapshots
from activities.repository.host_data import Host
from activities.reviews import ReviewActivities
from tests.unit.activities.adapters.git.home import Home
from workflows.contracts.host_contracts import CheckEvidence
from workflows.domain.verdict import Evidence, EvidencePlace

KEY = "k" * 32
BEFORE = "".join(f"line {number}\n" for number in range(1, 31))
AFTER = BEFORE.replace("line 5\n", "line five\n").replace("line 20\n", "")


def cited(lines: tuple[int, int], quote: str, path: str = "a.py") -> Evidence:
    return Evidence(criterion="1", path=path, line_start=lines[0], line_end=lines[1], quote=quote)


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("evidence", "place"),
    [
        (cited((5, 5), "line five"), "changed"),
        (cited((8, 8), "line five"), "changed"),  # within three lines
        (cited((9, 9), "line five"), "absent"),
        (cited((4, 6), "line 4\n  line five\n\tline 6"), "changed"),
        (cited((4, 4), "line 4"), "unchanged"),
        (cited((1, 10), "line 7 line 8"), "unchanged"),
        (cited((19, 19), "line 19"), "changed"),  # beside what was taken away
        (cited((20, 20), "line 21"), "changed"),
        (cited((20, 20), "line 20"), "absent"),
        (cited((22, 22), "line 23"), "unchanged"),
        (cited((5, 4), "line five"), "absent"),
        (cited((5, 5), " \n "), "absent"),
        (cited((1, 1), "same", "same.txt"), "unchanged"),
        (cited((1, 1), "fresh", "new [1].txt"), "changed"),
        (cited((1, 1), "moved", "there.txt"), "changed"),
        (cited((1, 1), "moved", "here.txt"), "absent"),
        (cited((1, 1), "x", "../a.py"), "absent"),
        (cited((1, 1), "x", "folder"), "absent"),
    ],
)
async def test_evidence_is_looked_up(tmp_path: Path, evidence: Evidence, place: str):
    home = Home(tmp_path)
    home.make({"a.py": BEFORE, "same.txt": "same\n", "here.txt": "moved\n", "folder/b": "x\n"})
    work = await home.start()
    (work / "a.py").write_text(AFTER)
    (work / "new [1].txt").write_text("fresh\n")
    (work / "here.txt").rename(work / "there.txt")
    commit = await home.commit_work()
    host = Host(
        "h",
        "host/h",
        MemoryStore(),
        BubblewrapSandbox(),
        lambda _: GitHostRepository(home.git, tmp_path / "host", KEY),
        LocalSnapshots(tmp_path / "host", exclusive, 1 << 30),
    )
    request = CheckEvidence(key=KEY, base=home.base, commit=commit, evidence=(evidence,))
    found = await ActivityEnvironment().run(ReviewActivities(host).evidence, request)
    assert found.places == (EvidencePlace(place),)
