"""`scripts/retry_failed.py` and `scripts/stress.py`: what is flaky, what fails, what is broken."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import COMMAND_PATIENCE

ROOT = Path(__file__).parents[2]
PLUGINS = ("-p", "xdist", "-p", "pytest_randomly")
ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "PYTHONPATH": str(ROOT),
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
}
"""Without the plugins that these scripts do not need: to load them would take most of the time."""
FLAKY = """
from pathlib import Path
def test_flaky():
    seen = Path("seen")
    was_seen = seen.exists()
    seen.touch()
    assert was_seen, "not yet"
"""
FINE = "def test_fine(): pass\n"
RED = "def test_red(): assert 1 == 2\n"
SKIPPED = """
import pytest
from pathlib import Path
def test_skipped():
    if Path("seen").exists():
        pytest.skip("seen")
    Path("seen").touch()
    assert False
"""
CRASH = "import os\ndef test_crash(): os._exit(3)\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider\n")
    return tmp_path


def run(project: Path, script: str, *arguments: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / script, *arguments, *PLUGINS],
        cwd=project,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
        timeout=COMMAND_PATIENCE,
    )
    return done.returncode, done.stdout


@pytest.mark.slow
def test_a_test_that_passes_the_second_time_is_listed_as_flaky(project: Path) -> None:
    (project / "test_it.py").write_text(FLAKY + FINE)
    code, out = run(project, "retry_failed.py", "--first", "-n", "1", "--", "-q")
    assert code == 0
    flaky = out.partition("\nFLAKY\n")[2]
    assert "- test_it.py::test_flaky" in flaky
    assert "not yet" in flaky
    assert "test_fine" not in flaky


@pytest.mark.slow
def test_a_test_that_fails_twice_fails_the_run(project: Path) -> None:
    (project / "test_it.py").write_text(FLAKY + RED)
    code, out = run(project, "retry_failed.py", "-q")
    assert code == 1
    assert "FAILED TWICE test_it.py::test_red" in out
    assert "- test_it.py::test_flaky" in out


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("source", "expected"),
    [("import nowhere\n" + FINE, 2), ("", 5)],
    ids=["a file that cannot be collected", "no tests"],
)
def test_a_broken_run_fails_at_once(project: Path, source: str, expected: int) -> None:
    (project / "test_it.py").write_text(source)
    code, out = run(project, "retry_failed.py", "-q")
    assert (code, "second run" in out) == (expected, False)


@pytest.mark.slow
def test_a_process_that_dies_fails_at_once(project: Path) -> None:
    (project / "test_it.py").write_text(CRASH + FINE)
    alone = ("-n", "1", "--max-worker-restart", "0")
    code, out = run(project, "retry_failed.py", "--first", *alone, "--", "-q")
    assert (code, "second run" in out) == (1, False)


def test_a_test_that_is_skipped_the_second_time_fails_the_run(project: Path) -> None:
    (project / "test_it.py").write_text(SKIPPED)
    code, out = run(project, "retry_failed.py", "-q")
    assert code == 1
    assert "FAILED TWICE test_it.py::test_skipped" in out


@pytest.mark.slow
def test_stress_lists_every_test_that_failed(project: Path) -> None:
    (project / "test_it.py").write_text(FLAKY + FINE)
    code, out = run(project, "stress.py", "2", "--load", "1", "-q")
    assert code == 1
    assert "== 2 runs: 1 tests ever failed" in out
    assert "1 times, seeds 1: test_it.py::test_flaky" in out


def test_stress_passes_where_nothing_fails(project: Path) -> None:
    (project / "test_it.py").write_text(FINE)
    assert run(project, "stress.py", "1", "--load", "0", "-q")[0] == 0
