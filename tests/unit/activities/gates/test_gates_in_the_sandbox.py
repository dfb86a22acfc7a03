"""The runner on the real sandbox: what bubblewrap and its first process say is understood."""

import os
import tracemalloc
from datetime import timedelta
from pathlib import Path

import pytest

from activities.adapters.blob_store import MemoryStore
from activities.adapters.sandbox.blueflame_programs import worker_prefixes
from activities.adapters.sandbox.bubblewrap import BubblewrapSandbox
from activities.gates.detection import detect_gates
from activities.gates.execution import Checkout, GateRunner
from activities.ports.sandbox_port import Limits, Workspace
from workflows.domain.gate import GateReport, GateResult, GateSpec, TestCounts, WhyNothing
from workflows.domain.ids import Tree
from workflows.policy.gates.base_notices import base_notices

pytestmark = pytest.mark.sandbox

HOG = "import time; x=bytearray(b'1'*4*10**8); time.sleep(600)"


class Bench:
    """A tree without git, and the real runner."""

    def __init__(self, root: Path) -> None:
        self.tree = root / "tree"
        self.tree.mkdir()
        self.store = MemoryStore()
        self.runner = GateRunner(BubblewrapSandbox(worker_prefixes()), self.store)

    async def restore(self) -> tuple[str, ...]:
        return ()

    async def run(self, *gates: GateSpec, **limits: object) -> tuple[GateResult, ...]:
        checkout = Checkout(Workspace(path=self.tree), self.restore)
        return await self.runner.run(gates, checkout, Limits.model_validate(limits))

    async def bash(self, script: str, seconds: float = 300, **limits: object) -> GateResult:
        argv = ("bash", "-e", "-o", "pipefail", "-c", script)
        gate = GateSpec(name="check", argv=argv, timeout=timedelta(seconds=seconds))
        (result,) = await self.run(gate, **limits)
        return result


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


async def test_a_detected_pytest_gate_counts_and_names_what_ran(bench: Bench):
    test = (
        "import pytest\n"
        "@pytest.mark.parametrize('x', [1, 2])\n"
        "def test_good(x): pass\n"
        "@pytest.mark.skip\n"
        "def test_skipped(): pass\n"
    )
    (bench.tree / "test_a.py").write_text(test)
    (result,) = await bench.run(*detect_gates({"test_a.py": test.encode()}))
    assert (result.result, result.tests) == ("passed", TestCounts(passed=2, skipped=1))
    assert result.ran is not None
    assert await bench.store.get(result.ran) == b"test_a.py::test_good"
    assert "PASSED" not in result.excerpt


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("test", "why"),
    [
        ("", WhyNothing.NO_TESTS),
        ("import pytest\n@pytest.mark.skip\ndef test_x(): pass\n", WhyNothing.NO_TESTS),
        ("import pytest\ndef test_x(): pytest.exit('enough', 0)\n", WhyNothing.CUT_SHORT),
    ],
)
async def test_a_pytest_gate_that_runs_no_test_judges_nothing(
    bench: Bench, test: str, why: WhyNothing
):
    (bench.tree / "test_a.py").write_text(test)
    gate = GateSpec(name="pytest", argv=("python", "-m", "pytest", "-q"))
    (result,) = await bench.run(gate)
    assert (result.result, result.why) == ("judged_nothing", why)


async def test_a_module_that_cannot_be_imported_cuts_a_pytest_gate_short(bench: Bench):
    """Field report G31."""
    (bench.tree / "test_a.py").write_text("import not_there\n")
    (bench.tree / "test_b.py").write_text("def test_b(): assert 0\n")
    gate = GateSpec(name="pytest", argv=("python", "-m", "pytest", "-q"))
    (result,) = await bench.run(gate)
    assert (result.result, result.failures) == ("failed", ("test_a.py",))
    assert result.cut_short == "Interrupted: 1 error during collection"


async def test_a_detected_pytest_gate_names_what_fails(bench: Bench):
    """Field report R49."""
    test = (
        "import pytest\n"
        "def test_good(): pass\n"
        "@pytest.mark.parametrize('x', [object(), object()], ids=repr)\n"
        "def test_bad(x): print('FAILED noise.py::z'); assert not x\n"
    )
    (bench.tree / "test_a.py").write_text(test)
    gates = detect_gates({"test_a.py": test.encode()})
    first = await bench.run(*gates)
    second = await bench.run(*gates)
    assert first[0].result == "failed"
    assert first[0].failures == (
        "test_a.py::test_bad[<object object at 0x…>]",
        "test_a.py::test_bad[<object object at 0x…>] #2",
    )
    assert first[0].failures == second[0].failures


@pytest.mark.parametrize("argv", [("no-such-program", "x"), ("./no/such/script",), ("./tool",)])
async def test_what_cannot_be_run_judged_nothing(bench: Bench, argv: tuple[str, ...]):
    (bench.tree / "tool").write_text("#!/bin/sh\n")
    (result,) = await bench.run(GateSpec(name="check", argv=argv))
    assert result.result == "judged_nothing"
    assert repr(argv[0]) in result.reason


async def test_a_program_missing_behind_the_shell(bench: Bench):
    result = await bench.bash("echo start; no-such-program --x | cat")
    assert result.result == "judged_nothing"
    assert "'no-such-program'" in result.reason


async def test_a_module_missing_in_the_sandboxs_python(bench: Bench):
    (result,) = await bench.run(GateSpec(name="check", argv=("python", "-m", "no_such_module")))
    assert result.result == "judged_nothing"
    assert "'no_such_module'" in result.reason


@pytest.mark.parametrize("script", ["kill -SEGV $$", "bash -c 'kill -SEGV $$'"])
async def test_a_signal_is_named(bench: Bench, script: str):
    result = await bench.bash(script)
    assert (result.result, result.reason) == ("judged_nothing", "killed by signal 11 (SIGSEGV)")


@pytest.mark.parametrize(
    ("argv", "result", "reason"),
    [
        (("python3", "-c", HOG), "judged_nothing", "out of memory: more than 256 MiB"),
        (("python3", "-c", "raise MemoryError"), "failed", ""),
        (("sh", "-c", "kill -9 $$"), "judged_nothing", "killed by signal 9 (SIGKILL)"),
    ],
    ids=["memory", "an ordinary failure", "killed"],
)
async def test_r17_what_judged_nothing_is_neither_failed_nor_passed(
    bench: Bench, argv: tuple[str, ...], result: str, reason: str
):
    (said,) = await bench.run(GateSpec(name="check", argv=argv), memory_bytes=256 << 20)
    assert (said.result, said.reason, said.failures) == (result, reason, ())


async def test_a_time_out_keeps_the_output_so_far(bench: Bench):
    """Field report R17."""
    for seconds in ("0.5", "2", "8", "32"):  # a busy machine needs longer until it begins
        result = await bench.bash("echo before; sleep 600", seconds=float(seconds))
        assert (result.result, result.reason) == ("judged_nothing", f"time-out after {seconds} s")
        if result.excerpt:
            break
    assert result.excerpt.startswith("before")


async def test_a_process_that_keeps_the_output_open_is_ended_and_reported(bench: Bench):
    """Field report R11."""
    result = await bench.bash("sleep 60 & echo done")
    assert result.result == "passed"
    assert result.excerpt == "done\n[1 process left, ended]"


async def test_a_failure_before_a_pipe_counts(bench: Bench):
    """Field report R35."""
    result = await bench.bash("(echo 'FAILED x'; exit 3) | tail -1")
    assert (result.result, result.exit_code) == ("failed", 3)


async def test_time_zone_locale_and_hash_seed_do_not_come_from_here(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
):
    """Field report R49."""
    monkeypatch.setitem(os.environ, "TZ", "Asia/Kathmandu")
    monkeypatch.setitem(os.environ, "PYTHONHASHSEED", "random")
    monkeypatch.setitem(os.environ, "LC_ALL", "tr_TR.UTF-8")
    show = 'date +%z; python -c "print(hash(\'x\'))"; echo "$TZ $LC_ALL $PYTHONHASHSEED"'
    first, second = await bench.bash(show), await bench.bash(show)
    assert first.excerpt == second.excerpt
    zone, _, names = first.excerpt.splitlines()
    assert (zone, names) == ("+0000", "UTC C.UTF-8 0")


@pytest.mark.slow
async def test_g36_a_summary_after_fifty_mebibytes_is_read(bench: Bench):
    """Field report G36."""
    said = "FAILED tests/test_a.py::test_x - no\\n1 failed, 2 passed in 0.10s\\n"
    result = await bench.bash(f"echo begins; (yes || true) | head -c 50M; printf '{said}'; exit 1")
    assert result.result == "failed"
    assert result.failures == ("tests/test_a.py::test_x",)
    assert result.tests == TestCounts(passed=2, failed=1)
    first, *_, last = result.excerpt.splitlines()
    size = (50 << 20) + len("begins\n") + len(said.replace("\\n", "\n"))
    assert (first, last) == ("begins", f"[output cut: of {size} bytes both ends were kept]")


@pytest.mark.slow
async def test_g36_a_gate_that_prints_without_end_takes_bounded_memory(bench: Bench):
    """Field report G36: with five of them 213 MB."""
    tracemalloc.start()
    try:
        result = await bench.bash("exec yes", seconds=2)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert result.why == WhyNothing.TIMED_OUT
    assert "output cut: of " in result.excerpt
    assert peak < 80 << 20


@pytest.mark.parametrize(
    ("script", "cause", "remedy"),
    [
        (
            "python3 -c 'import nowhere_at_all'",
            "ModuleNotFoundError: No module named 'nowhere_at_all'",
            "'nowhere_at_all' is the project's own or a test requirement",
        ),
        ("no-such-program", "no-such-program: command not found", "toolchains: [PREFIX]"),
        (
            "python3 -c 'import urllib.request as u; u.urlopen(\"http://example.org/x\")'",
            "socket.gaierror: [Errno",
            "`worktree: {setup: [[COMMAND]], network: [",
        ),
        ("touch /usr/x", "touch: cannot touch '/usr/x': Read-only file system", "or to TMPDIR"),
    ],
)
async def test_g53_a_gate_that_is_red_on_the_base_tells_its_cause_and_the_remedy(
    bench: Bench, script: str, cause: str, remedy: str
):
    result = await bench.bash(f"{script} || exit 1")
    (told,) = base_notices(GateReport(tree=Tree("t"), results=(result,)))[:1]
    assert "fails on the base" in told
    assert cause in told
    assert remedy in told
