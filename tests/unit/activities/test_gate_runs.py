"""The activity around the gates: what it does where there are none, and what it bounds."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from temporalio.testing import ActivityEnvironment

from activities.adapters.blob_store import MemoryStore
from activities.adapters.git.repository_locks import exclusive
from activities.adapters.kept_baselines import DAY_SECONDS, LocalBaselines
from activities.adapters.sandbox.unconfined import UnconfinedSandbox
from activities.adapters.snapshots.snapshot_store import LocalSnapshots
from activities.gate_runs import GateActivities
from activities.ports.sandbox_port import SandboxCommand, SandboxResult
from activities.repository.host_data import Host
from tests.unit.activities.adapters.git.home import SESSION, Home, names
from workflows.contracts.gate_contracts import RunGates
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


class KeptBase:
    """A base whose gates' results are kept, by a clock that the test sets."""

    def __init__(self, tmp_path: Path) -> None:
        self.home = Home(tmp_path)
        self.home.make({"a.txt": "one\n"})
        self.now = 1_000_000.0
        self.sandbox = Recording()
        self.store = MemoryStore()
        self.host = Host(
            "h",
            "host/h",
            self.store,
            self.sandbox,
            lambda _: self.home.host,
            LocalSnapshots(tmp_path / "host", exclusive, 1 << 30),
            baselines=LocalBaselines(tmp_path / "host" / "baselines", lambda: self.now),
        )

    async def runs(self, session: str = "s2", **facts: Any) -> int:
        """Judge the base for a session, and return how many commands that took."""
        before = len(self.sandbox.commands)
        request = {
            "session": session,
            "key": "k" * 32,
            "commit": self.home.base,
            "gates": (GateSpec(name="g", argv=("echo", "said")),),
            "baseline": None,
            **facts,
        }
        self.report = await ActivityEnvironment().run(
            GateActivities(self.host).run, RunGates.model_validate(request)
        )
        return len(self.sandbox.commands) - before


@pytest.fixture
async def kept(tmp_path: Path) -> KeptBase:
    """One session has judged the base."""
    base = KeptBase(tmp_path)
    await base.home.start("t1")
    assert await base.runs("s1") == 1
    return base


async def test_a_base_where_all_gates_passed_is_not_judged_again_within_a_day(kept: KeptBase):
    first = kept.report
    kept.now += DAY_SECONDS
    assert await kept.runs() == 0
    assert kept.report == first.timed(())
    kept.now += 1
    assert await kept.runs() == 1


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "facts",
    [
        {"gates": (GateSpec(name="g", argv=("echo", "other")),)},
        {"setup": (("true",),)},
        {"environment": ProjectEnvironment(variables={"A": "1"})},
        {"environment": ProjectEnvironment(memory_mb=2_048)},
    ],
    ids=["gates", "set-up", "variables", "limits"],
)
async def test_a_base_is_judged_again_where_anything_differs(kept: KeptBase, facts: dict[str, Any]):
    assert await kept.runs(**facts) > 0


async def test_a_base_with_a_failure_is_judged_each_time(kept: KeptBase):
    red = (GateSpec(name="g", argv=("false",)),)
    assert await kept.runs(gates=red) == 1
    assert await kept.runs(gates=red) == 1


async def test_a_base_is_judged_again_where_its_output_is_gone(kept: KeptBase):
    output = kept.report.results[0].output
    assert output is not None
    kept.store.lose(output)
    assert await kept.runs() == 1


async def test_a_change_is_always_judged(kept: KeptBase):
    assert await kept.runs(baseline=kept.report) == 1


async def test_results_that_cannot_be_read_are_judged_again(kept: KeptBase, tmp_path: Path):
    (written,) = (tmp_path / "host" / "baselines").iterdir()
    written.write_text("{")
    assert await kept.runs() == 1
