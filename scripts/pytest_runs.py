"""One run of pytest, with what failed in it."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]


class Run(NamedTuple):
    """Pytest's exit code, the failures by test (the end of each first message), and what passed."""

    code: int
    failures: dict[str, str]
    passes: set[str]
    is_broken: bool
    """Whether anything other than a test failed: a file's collection, a process of xdist."""


def run(arguments: list[str]) -> Run:
    """Run pytest in the current directory; its output goes to this program's output.

    Args:
        arguments: pytest's arguments, including those of xdist.
    """
    with tempfile.TemporaryDirectory(prefix="blueflame-runs-") as name:
        folder = Path(name)
        folder.chmod(0o777)  # started as root, pytest writes as another user
        listed, passed = folder / "failures.jsonl", folder / "passes"
        plugin = ["-p", "tests.failures", f"--failures-to={listed}", f"--passes-to={passed}"]
        command = [sys.executable, "-m", "pytest", *plugin, *arguments]
        code = subprocess.run(command, check=False).returncode
        told = [json.loads(line) for line in _lines(listed)]
        passes = set(_lines(passed))
    failures: dict[str, str] = {}
    for failure in told:
        failures.setdefault(failure["test"], failure["text"])
    return Run(code, failures, passes, not all(failure["is_test"] for failure in told))


def _lines(path: Path) -> list[str]:
    # Split at "\n" only: the id of a test may contain other line separators.
    return path.read_text("utf-8").split("\n")[:-1] if path.exists() else []
