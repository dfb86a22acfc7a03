"""Gates of one change: side by side, cheap ones first, and only those that it concerns."""

import asyncio
from pathlib import Path

import pytest
from temporalio.testing import ActivityEnvironment

from activities.adapters.blob_store import MemoryStore
from activities.adapters.git.repository_locks import exclusive
from activities.adapters.sandbox.bubblewrap import BubblewrapSandbox
from activities.adapters.snapshots.snapshot_store import LocalSnapshots
from activities.gate_runs import GateActivities
from activities.ports.sandbox_port import Sandbox, SandboxCommand, SandboxResult
from activities.repository.host_data import Host
from tests.unit.activities.adapters.git.home import SESSION, Home, names, write
from tests.unit.activities.gates.test_execution import ScriptedSandbox, exited
from workflows.contracts.gate_contracts import RunGates
from workflows.domain.gate import GateReport, GateSpec
from workflows.domain.ids import Commit

KEY = "k" * 32
LINT = GateSpec(name="lint", argv=("sh", "-c", "! grep -rn BAD ."), cheap=True)
TESTS = GateSpec(name="tests", argv=("sh", "-c", "! grep -rn WRONG ."))
WEB = GateSpec(name="web", argv=("sh", "-c", "! grep -rn WRONG web"), paths=("web/**",))
GATES = (LINT, TESTS, WEB)


class Bench:
    def __init__(self, top: Path, sandbox: Sandbox, lanes: int = 1) -> None:
        self.home = Home(top)
        self.home.make({"a.txt": "one\n", "web/a.ts": "one\n", ".gitignore": "gen/\n"})
        kept = LocalSnapshots(top / "host", exclusive, 1 << 30)
        self.store = MemoryStore()
        host = Host("h", "host/h", self.store, sandbox, lambda _: self.home.host, kept)
        self.activities = GateActivities(host, lanes)

    async def work(self, files: dict[str, str | bytes]) -> Commit:
        write(await self.home.start("t1"), files)
        return await self.home.commit_work()

    async def judge(
        self,
        commit: Commit,
        baseline: GateReport | None = None,
        gates: tuple[GateSpec, ...] = GATES,
        setup: tuple[tuple[str, ...], ...] = (),
    ) -> GateReport:
        request = RunGates(
            session=SESSION,
            key=KEY,
            commit=commit,
            gates=gates,
            baseline=baseline,
            since=None if baseline is None else self.home.base,
            setup=setup,
        )
        return await ActivityEnvironment().run(self.activities.run, request)


def said(report: GateReport) -> dict[str, str]:
    return {each.gate: each.result for each in report.results}


@pytest.mark.sampled(3)
@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"web/b.ts": "x\n"}, ("passed", "passed", "passed")),
        ({"b.txt": "x\n"}, ("passed", "passed", "not_concerned")),
        ({"b.txt": "BAD\n"}, ("failed", "spared", "not_concerned")),
        ({"web/b.ts": "BAD\n"}, ("failed", "spared", "spared")),
        ({"web/b.ts": "WRONG\n"}, ("passed", "failed", "failed")),
    ],
)
async def test_what_runs_on_a_change(
    tmp_path: Path, files: dict[str, str | bytes], expected: tuple[str, ...]
):
    bench = Bench(tmp_path, BubblewrapSandbox(), lanes=2)
    work = await bench.work(files)
    base = await bench.judge(bench.home.base)
    assert set(said(base).values()) == {"passed"}, "on the base each gate runs"
    report = await bench.judge(work, base)
    assert said(report) == dict(zip(("lint", "tests", "web"), expected, strict=True))
    assert names(tmp_path / "host" / "worktrees" / KEY) == ["t1"], "no checkout is left"


@pytest.mark.sandbox
async def test_gates_beside_each_other_see_set_up_and_nothing_of_the_other(tmp_path: Path):
    bench = Bench(tmp_path, BubblewrapSandbox(), lanes=3)
    await bench.home.start("t1")
    script = "cat gen/made && ! ls gen/mine && echo x >gen/mine && rm gen/made && echo y >a.txt"
    gates = tuple(GateSpec(name=f"g{n}", argv=("sh", "-c", script)) for n in range(5))
    setup = (("sh", "-c", "mkdir gen && echo x >gen/made"),)
    report = await bench.judge(bench.home.base, gates=gates, setup=setup)
    assert list(said(report)) == ["g0", "g1", "g2", "g3", "g4"]
    assert [each for each in report.results if each.result != "passed"] == []
    assert {each.changed_files for each in report.results} == {("a.txt",)}


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("codes", "expected"),
    [
        ((0, 0), ("passed", "passed")),
        ((1, 0, 0), ("passed", "passed")),  # flaky: the rerun says so before any other is spared
        ((1, 1), ("failed", "spared")),
    ],
)
async def test_a_cheap_gate_spares_others_only_once_its_rerun_failed_too(
    tmp_path: Path, codes: tuple[int, ...], expected: tuple[str, str]
):
    sandbox = ScriptedSandbox(exited(), exited(), *map(exited, codes))
    bench = Bench(tmp_path, sandbox)
    work = await bench.work({"b.txt": "x\n"})
    base = await bench.judge(bench.home.base, gates=(LINT, TESTS))
    report = await bench.judge(work, base, gates=(LINT, TESTS))
    assert tuple(said(report).values()) == expected
    assert len(sandbox.commands) == 2 + len(codes)


async def test_a_cheap_gate_that_was_red_before_spares_none(tmp_path: Path):
    sandbox = ScriptedSandbox(exited(1), exited(), exited(1), exited())
    bench = Bench(tmp_path, sandbox)
    work = await bench.work({"b.txt": "x\n"})
    base = await bench.judge(bench.home.base, gates=(LINT, TESTS))
    report = await bench.judge(work, base, gates=(LINT, TESTS))
    assert said(report) == {"lint": "failed", "tests": "passed"}


async def test_a_cancelled_run_leaves_no_checkout(tmp_path: Path):
    began = asyncio.Event()

    class Endless(ScriptedSandbox):
        async def run(self, command: SandboxCommand, hold: int | None = None) -> SandboxResult:
            began.set()
            await asyncio.Event().wait()
            raise AssertionError

    bench = Bench(tmp_path, Endless(), lanes=2)
    await bench.home.start("t1")
    running = asyncio.ensure_future(bench.judge(bench.home.base))
    await began.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert names(tmp_path / "host" / "worktrees" / KEY) == ["t1"]
