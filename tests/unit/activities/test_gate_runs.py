"""The activity around the gates: what it does where there are none, and what it bounds."""

from datetime import timedelta
from pathlib import Path

from temporalio.testing import ActivityEnvironment

from activities.adapters.blob_store import MemoryStore
from activities.adapters.git.repository_locks import exclusive
from activities.adapters.sandbox.unconfined import UnconfinedSandbox
from activities.adapters.snapshots.snapshot_store import LocalSnapshots
from activities.gate_runs import GateActivities
from activities.ports.sandbox_port import SandboxCommand, SandboxResult
from activities.repository.host_data import Host
from tests.unit.activities.adapters.git.home import SESSION, Home, names
from workflows.contracts.host_contracts import RunGates
from workflows.domain.environment import ProjectEnvironment
from workflows.domain.gate import GateSpec


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


class Recording(UnconfinedSandbox):
    """Keeps the commands that it runs."""

    def __init__(self) -> None:
        super().__init__()
        self.commands: list[SandboxCommand] = []

    async def run(self, command: SandboxCommand, hold: int | None = None) -> SandboxResult:
        self.commands.append(command)
        return await super().run(command, hold)


async def test_set_up_and_gates_have_the_bounds_of_the_environment(tmp_path: Path):
    home = Home(tmp_path)
    home.make({"a.txt": "one\n"})
    await home.start("t1")
    sandbox = Recording()
    kept = LocalSnapshots(tmp_path / "host", exclusive, 1 << 30)
    host = Host("h", "host/h", MemoryStore(), sandbox, lambda _: home.host, kept)
    request = RunGates(
        session=SESSION,
        key="k" * 32,
        commit=home.base,
        gates=(GateSpec(name="g", argv=("true",), timeout=timedelta(minutes=7)),),
        baseline=None,
        setup=(("true",),),
        copied=(),
        environment=ProjectEnvironment(memory_mb=2_048, processes=99, file_mb=3, disk_mb=5),
    )
    await ActivityEnvironment().run(GateActivities(host).run, request)
    assert [each.limits.timeout for each in sandbox.commands] == [
        timedelta(minutes=10),
        timedelta(minutes=7),
    ]
    for command in sandbox.commands:
        found = command.limits
        assert (found.memory_bytes, found.processes) == (2_048 << 20, 99)
        assert (found.file_bytes, found.disk_bytes) == (3 << 20, 5 << 20)
