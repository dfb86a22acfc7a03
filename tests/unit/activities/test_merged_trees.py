"""`merging.merge`: what git joins without a conflict, though it does not go together."""

from collections.abc import Callable
from pathlib import Path

import pytest
from temporalio.testing import ActivityEnvironment

from activities.adapters.blob_store import MemoryStore
from activities.adapters.git.host_git import GitHostRepository
from activities.adapters.git.repository_locks import exclusive
from activities.adapters.sandbox.bubblewrap import BubblewrapSandbox
from activities.adapters.snapshots.snapshot_store import LocalSnapshots
from activities.merging import MergingActivities
from activities.repository.host_data import Host
from tests.unit.activities.adapters.git.home import SESSION, WHEN, Home, write
from workflows.contracts.merging_contracts import (
    MergeCommits,
    MergeConflict,
    MergedCommits,
    MergeOutcome,
)
from workflows.domain.ids import Commit

KEY = "k" * 32
Deed = Callable[[Path], object]
ENTRIES = ",\n".join(f'  "k{number}": {number}' for number in range(20))
JSON = f"{{\n{ENTRIES}\n}}\n"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A repository without files yet."""
    return Home(tmp_path)


async def made(home: Home, name: str, deed: Deed) -> Commit:
    """A task's commit on the base."""
    place = (await home.host.create_worktree(name, home.base)).path
    deed(place)
    return await home.commit_work(name)


async def merged(home: Home, *deeds: Deed) -> MergeOutcome:
    """Merge the tasks' commits, through the activity."""
    await home.start()
    commits = tuple([await made(home, f"t{number}", deed) for number, deed in enumerate(deeds)])
    host = Host(
        "h",
        "host/h",
        MemoryStore(),
        BubblewrapSandbox(),
        lambda _: GitHostRepository(home.git, home.top / "host", KEY),
        LocalSnapshots(home.top / "host", exclusive, 1 << 30),
    )
    request = MergeCommits(
        session=SESSION, key=KEY, head=home.base, commits=commits, title="t", at=WHEN
    )
    return await ActivityEnvironment().run(MergingActivities(host).merge, request)


def first_key(place: Path) -> None:
    """Add a key at the beginning."""
    write(place, {"a.json": JSON.replace("{\n", '{\n  "new": 1,\n', 1)})


def last_key(place: Path) -> None:
    """Add the same key at the end."""
    write(place, {"a.json": JSON.replace("\n}", ',\n  "new": 2\n}')})


async def test_g25_a_key_that_two_add_at_both_ends_is_a_conflict(home: Home):
    home.make({"a.json": JSON})
    outcome = await merged(home, first_key, last_key)
    assert isinstance(outcome, MergeConflict)
    assert outcome.paths == ("a.json",)
    assert outcome.text == "structure\na.json: it holds 'new' twice"


async def test_g26_links_that_lead_outside_only_together_are_a_conflict(home: Home):
    home.make({"d/f": "x\n"})
    outcome = await merged(
        home,
        lambda place: (place / "up").symlink_to("d/.."),
        lambda place: (place / "out").symlink_to("up/../x"),
    )
    assert isinstance(outcome, MergeConflict)
    assert outcome.paths == ("out",)
    assert outcome.text.startswith("links\nout: the link leads outside: it leads out of the repo")


async def test_names_that_are_one_elsewhere_are_a_conflict(home: Home):
    home.make({"f": "x\n"})
    outcome = await merged(
        home,
        lambda place: write(place, {"Readme": "x\n"}),
        lambda place: write(place, {"README": "y\n"}),
    )
    assert isinstance(outcome, MergeConflict)
    assert outcome.text.startswith("names\nREADME: ")


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "base",
    [{"a.json": JSON}, {"a.json": JSON.replace('"k9"', '"k8"')}],
    ids=["sound", "broken before"],
)
async def test_what_goes_together_merges(home: Home, base: dict[str, str | bytes]):
    home.make(base)
    text = str(base["a.json"])
    outcome = await merged(
        home,
        lambda place: write(place, {"a.json": text.replace("{\n", '{\n  "new": 1,\n', 1)}),
        lambda place: write(place, {"a.json": text.replace("\n}", ',\n  "other": 2\n}')}),
        lambda place: (place / "link").symlink_to("a.json"),
    )
    assert isinstance(outcome, MergedCommits)
