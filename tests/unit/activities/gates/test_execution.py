import asyncio
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from activities.adapters.blob_store import MemoryStore
from activities.gates.execution import Checkout, GateRunner
from activities.gates.output_excerpt import MAX_LINES
from activities.gates.run_summaries import NAMING_OPTION
from activities.ports.sandbox_port import (
    Layering,
    Limits,
    SandboxCommand,
    SandboxProbe,
    SandboxResult,
    SandboxUnavailableError,
    Workspace,
)
from workflows.domain.gate import GateSpec


def exited(code: int = 0, output: bytes = b"", **more: object) -> SandboxResult:
    return SandboxResult.model_validate(
        {
            "end": "exited",
            "code": code,
            "output": output,
            "output_bytes": len(output),
            "survivors": 0,
            "elapsed": timedelta(seconds=1),
        }
        | more
    )


class ScriptedSandbox:
    """Answers each command with the next scripted result; runs nothing."""

    def __init__(self, *results: SandboxResult | Exception) -> None:
        self._results = list(results)
        self.commands: list[SandboxCommand] = []
        self.holds: list[int | None] = []
        self.before_run: Callable[[], None] = lambda: None

    async def probe(self) -> SandboxProbe:
        return SandboxProbe(usable=True, name="scripted", reason=None)

    async def layering(self, near: Path) -> Layering:
        return Layering(kind="none")

    async def run(self, command: SandboxCommand, hold: int | None = None) -> SandboxResult:
        self.before_run()
        self.commands.append(command)
        self.holds.append(hold)
        result = self._results.pop(0)
        if isinstance(result, Exception):
            raise result
        return result


class Tree:
    """A checkout whose tracked files the next gate would see."""

    def __init__(self) -> None:
        self.changed: list[str] = []
        self.checkout = Checkout(Workspace(path=Path("/checkout")), self.restore, hold=7)

    async def restore(self) -> tuple[str, ...]:
        changed, self.changed = tuple(self.changed), []
        return changed


PYTEST = GateSpec(name="pytest", argv=("python", "-m", "pytest", "-q"))
LINT = GateSpec(name="lint", argv=("ruff", "check"), timeout=timedelta(seconds=30))


async def test_each_gate_runs_in_order_with_its_own_timeout_under_the_lock():
    sandbox = ScriptedSandbox(exited(), exited())
    limits = Limits(timeout=timedelta(seconds=5), memory_bytes=1 << 20)
    results = await GateRunner(sandbox, MemoryStore()).run((LINT, PYTEST), Tree().checkout, limits)
    assert [result.gate for result in results] == ["lint", "pytest"]
    assert {result.result for result in results} == {"passed"}
    assert [command.argv for command in sandbox.commands] == [
        LINT.argv,
        (*PYTEST.argv, NAMING_OPTION),
    ]
    assert [command.limits.timeout for command in sandbox.commands] == [
        timedelta(seconds=30),
        timedelta(minutes=10),
    ]
    assert {command.limits.memory_bytes for command in sandbox.commands} == {1 << 20}
    assert sandbox.holds == [7, 7]


async def test_the_whole_output_is_kept_and_a_cut_one_shown():
    output = b"short test summary\n" + b"word " * 4_000 + b"\nFAILED tests/test_a.py::test_x - no\n"
    store = MemoryStore()
    sandbox = ScriptedSandbox(exited(1, output))
    (result,) = await GateRunner(sandbox, store).run((PYTEST,), Tree().checkout, Limits())
    assert result.result == "failed"
    assert result.output is not None
    assert await store.get(result.output) == output
    assert len(result.excerpt) <= 6_000
    assert result.failures == ("tests/test_a.py::test_x",)


@pytest.mark.parametrize(("dropped", "is_cut"), [(0, False), (7, True)])
async def test_a_redacted_secret_does_not_count_as_cut_output(dropped: int, is_cut: bool):
    output = b"key " + b"glpat-" + b"a1B2" * 5 + b" found\n"
    cut_at = len(output) if is_cut else None
    sandbox = ScriptedSandbox(exited(1, output, output_bytes=len(output) + dropped, cut_at=cut_at))
    (result,) = await GateRunner(sandbox, MemoryStore()).run((LINT,), Tree().checkout, Limits())
    assert result.excerpt.startswith("key [a GitLab token] found")
    assert ("output cut" in result.excerpt) == is_cut


async def test_g36_an_output_of_very_many_lines_is_bounded_before_it_is_read():
    lines = MAX_LINES * 5
    output = b"first\n" + b"y\n" * lines + b"FAILED tests/test_a.py::test_x - no\n"
    store = MemoryStore()
    sandbox = ScriptedSandbox(exited(1, output))
    (result,) = await GateRunner(sandbox, store).run((PYTEST,), Tree().checkout, Limits())
    assert result.failures == ("tests/test_a.py::test_x",)
    assert result.excerpt.startswith("first\n")
    assert result.excerpt.endswith(f"[output cut: of {len(output)} bytes both ends were kept]")
    assert result.output is not None
    assert (await store.get(result.output)).count(b"\n") == MAX_LINES + 1


async def test_what_a_gate_changes_is_named_and_not_seen_by_the_next():
    """Field report R49."""
    tree = Tree()
    seen: list[list[str]] = []
    sandbox = ScriptedSandbox(exited(), exited(1), exited())

    def write_a_file() -> None:
        seen.append(list(tree.changed))
        if len(seen) < 3:
            tree.changed = [f"stamp{len(seen)}.txt", "a.txt"]

    sandbox.before_run = write_a_file
    gates = (LINT, PYTEST, LINT.model_copy(update={"name": "last"}))
    results = await GateRunner(sandbox, MemoryStore()).run(gates, tree.checkout, Limits())
    assert seen == [[], [], []]
    assert [result.changed_files for result in results] == [
        ("a.txt", "stamp1.txt"),
        ("a.txt", "stamp2.txt"),
        (),
    ]
    assert tree.changed == []


async def test_without_a_sandbox_there_is_no_result():
    sandbox = ScriptedSandbox(SandboxUnavailableError("no user namespaces"))
    with pytest.raises(SandboxUnavailableError):
        await GateRunner(sandbox, MemoryStore()).run((LINT,), Tree().checkout, Limits())


async def test_a_rerun_says_so():
    runner = GateRunner(ScriptedSandbox(exited()), MemoryStore())
    (result,) = await runner.run((LINT,), Tree().checkout, Limits(), rerun=True)
    assert result.rerun


async def test_without_gates_there_are_no_results():
    runner = GateRunner(ScriptedSandbox(), MemoryStore())
    assert await runner.run((), Tree().checkout, Limits()) == ()


async def test_gates_run_side_by_side_each_in_a_checkout_of_its_own():
    together = asyncio.Barrier(2)

    class Meeting(ScriptedSandbox):
        async def run(self, command: SandboxCommand, hold: int | None = None) -> SandboxResult:
            async with asyncio.timeout(60):
                await together.wait()
            return await super().run(command, hold)

    sandbox = Meeting(exited(), exited(1), exited(), exited())
    gates = [GateSpec(name=name, argv=(name,)) for name in "abcd"]
    trees = [Tree().checkout, Tree().checkout]
    results = await GateRunner(sandbox, MemoryStore()).run_beside(gates, trees, Limits())
    assert [each.gate for each in results] == ["a", "b", "c", "d"]


async def test_the_end_of_one_gate_by_an_error_ends_the_others():
    began, ended = asyncio.Event(), asyncio.Event()

    class Broken(ScriptedSandbox):
        async def run(self, command: SandboxCommand, hold: int | None = None) -> SandboxResult:
            if command.argv[0] == "a":
                await began.wait()
                raise SandboxUnavailableError("gone")
            began.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()
            raise AssertionError

    gates = [GateSpec(name=name, argv=(name,)) for name in "abc"]
    runner = GateRunner(Broken(), MemoryStore())
    with pytest.raises(SandboxUnavailableError, match="gone"):
        await runner.run_beside(gates, [Tree().checkout, Tree().checkout], Limits())
    assert ended.is_set()
