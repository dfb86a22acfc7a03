"""The activity around the gates: what it does where there are none."""

from pathlib import Path

from temporalio.testing import ActivityEnvironment

from activities.adapters.blob_store import MemoryStore
from activities.adapters.git.repository_locks import exclusive
from activities.adapters.sandbox.unconfined import UnconfinedSandbox
from activities.adapters.snapshots.snapshot_store import LocalSnapshots
from activities.gate_runs import GateActivities
from activities.repository.host_data import Host
from tests.unit.activities.adapters.git.home import SESSION, Home, names
from workflows.contracts.host_contracts import RunGates


async def test_without_gates_the_tree_is_named_and_nothing_is_checked_out(tmp_path: Path):
    home = Home(tmp_path)
    home.make({"a.txt": "one\n"})
    await home.start("t1")
    kept = LocalSnapshots(tmp_path / "host", exclusive, 1 << 30)
    host = Host("h", "host/h", MemoryStore(), UnconfinedSandbox(), lambda _: home.host, kept)
    request = RunGates(
        session=SESSION,
        key="k" * 32,
        commit=home.base,
        gates=(),
        baseline=None,
        setup=(("false",),),
        copied=(),
    )
    report = await ActivityEnvironment().run(GateActivities(host).run, request)
    assert report.tree == home.of_host("rev-parse", f"{home.base}^{{tree}}")
    assert report.results == ()
    assert names(tmp_path / "host" / "worktrees" / ("k" * 32)) == ["t1"]
