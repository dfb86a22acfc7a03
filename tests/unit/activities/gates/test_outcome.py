from datetime import timedelta

import pytest

from activities.gates.outcome import judge
from activities.ports.sandbox_port import Limits, SandboxResult
from workflows.domain.gate import GateResult, GateSpec, WhyNothing

MAKE_END = b"make: *** [Makefile:2: test] Error 127\n"
SUMMARY = b"=========================== short test summary info ============================\n"


def ran(code: int, output: bytes = b"", end: str = "exited", **more: int) -> SandboxResult:
    data = {"end": end, "code": code, "output": output, "output_bytes": len(output)}
    rest = {"survivors": 0, "elapsed": timedelta(seconds=1)}
    return SandboxResult.model_validate(data | rest | more)


def judged(argv: str, result: SandboxResult) -> GateResult:
    gate = GateSpec(name="check", argv=tuple(argv.split()), timeout=timedelta(seconds=90))
    limits = Limits(timeout=gate.timeout, memory_bytes=512 << 20, disk_bytes=64 << 20)
    return judge(gate, result, limits)


@pytest.mark.parametrize(
    ("end", "code", "reason", "exit_code"),
    [
        ("timed_out", 9, "time-out after 90 s", 137),
        ("out_of_memory", 9, "out of memory: more than 512 MiB", 137),
        ("out_of_disk", 9, "out of disk: wrote more than 64 MiB", 137),
        ("signalled", 11, "killed by signal 11 (SIGSEGV)", 139),
        ("signalled", 63, "killed by signal 63", 191),
        ("exited", 137, "killed by signal 9 (SIGKILL)", 137),
        ("exited", 139, "killed by signal 11 (SIGSEGV)", 139),
    ],
)
def test_a_limit_or_a_signal_is_neither_failed_nor_passed(
    end: str, code: int, reason: str, exit_code: int
):
    """Field report R17."""
    output = SUMMARY + b"FAILED t.py::x - boom\n"
    result = judged("pytest", ran(code, output, end))
    assert result.result == "judged_nothing"
    assert result.reason == reason
    assert result.exit_code == exit_code
    assert result.failures == ()
    assert "FAILED t.py::x" in result.excerpt


@pytest.mark.parametrize(
    ("argv", "code", "output", "program"),
    [
        ("ruff check", 127, b"", "ruff"),
        ("ruff check", 127, b"sh: 5: exec: ruff: not found\n", "ruff"),
        ("./a.sh", 126, b"sh: 5: exec: ./a.sh: Permission denied\n", "./a.sh"),
        ("ruff check", 1, b"bwrap: execvp ruff: No such file or directory\n", "ruff"),
        ("./check.sh", 1, b"bwrap: execvp ./check.sh: Permission denied\n", "./check.sh"),
        ("cargo test", 127, b"prlimit: failed to execute cargo: No such file\n", "cargo"),
        ("npm test", 127, b"> test\n> jest\n\nsh: 1: jest: not found\n", "jest"),
        ("bash -e -c x|y", 127, b"bash: line 1: mocha: command not found\n", "mocha"),
        ("make test", 2, b"make: pytest: No such file or directory\n" + MAKE_END, "pytest"),
        ("make test", 2, b"/bin/sh: 1: tox: not found\n" + MAKE_END, "tox"),
    ],
)  # fmt: skip
def test_a_missing_program_is_named_with_the_remedy(
    argv: str, code: int, output: bytes, program: str
):
    result = judged(argv, ran(code, output))
    assert result.result == "judged_nothing"
    assert repr(program) in result.reason
    assert "toolchain" in result.reason
    assert "'check'" in result.reason


def test_a_missing_pytest_is_the_sandboxs_lack():
    result = judged("python -m pytest", ran(1, b"/usr/bin/python3: No module named pytest\n"))
    assert result.result == "judged_nothing"
    assert "'pytest'" in result.reason
    assert "worktree.setup" in result.reason


def test_a_module_that_the_code_misses_is_a_failure():
    output = b"ModuleNotFoundError: No module named 'shop'\npython: No module named shop\n"
    assert judged("python -m pytest", ran(1, output)).result == "failed"


def test_options_of_a_missing_plugin_are_the_sandboxs_lack():
    output = b"ERROR: usage: __main__.py\n__main__.py: error: unrecognized arguments: --cov=shop\n"
    result = judged("python -m pytest", ran(4, output))
    assert result.result == "judged_nothing"
    assert "unrecognized arguments: --cov=shop" in result.reason


def test_another_usage_error_is_a_failure():
    output = b"ImportError while loading conftest '/workspace/conftest.py'.\n"
    assert judged("pytest", ran(4, output)).result == "failed"


@pytest.mark.parametrize(
    ("argv", "code", "output"),
    [
        ("python -m pytest -q", 5, b"no tests ran in 0.01s\n"),
        ("python -m unittest discover", 5, b"Ran 0 tests in 0.000s\n\nNO TESTS RAN\n"),
        ("python -m unittest discover", 0, b"\nRan 0 tests in 0.000s\n\nOK\n"),
    ],
)
def test_a_run_without_tests_does_not_pass(argv: str, code: int, output: bytes):
    result = judged(argv, ran(code, output))
    assert (result.result, result.why) == ("judged_nothing", WhyNothing.NO_TESTS)


def test_five_means_nothing_elsewhere():
    assert judged("./check.sh", ran(5)).reason == ""


def test_words_in_the_output_turn_nothing_green_or_red():
    loud = SUMMARY + b"FAILED t.py::x - printed by a test about failures\n"
    assert judged("pytest", ran(0, loud)).result == "passed"
    assert judged("pytest", ran(0, loud)).failures == ()
    assert judged("pytest", ran(1, b"12 passed in 0.1s\n")).result == "failed"


def test_survivors_and_dropped_output_are_reported():
    result = judged("pytest", ran(0, b"ok\n", survivors=1, output_bytes=9_000, cut_at=3))
    expected = "ok\n[output cut: of 9000 bytes both ends were kept]\n[1 process left, ended]"
    assert result.excerpt == expected
    assert judged("x", ran(0, b"a\n" * 9_000, survivors=2)).excerpt.endswith(
        "[2 processes left, ended]"
    )
    assert len(judged("x", ran(0, b"a\n" * 9_000, survivors=2)).excerpt) <= 6_000
