"""One run of pytest, with what failed in it."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]


class Run(NamedTuple):
    """How pytest ended, the failures by test (the end of what each said first), what passed."""

    code: int
    failures: dict[str, str]
    passes: set[str]
    is_broken: bool
    """Whether something failed that is not a test: a file's collection, a process of xdist."""


def run(arguments: list[str]) -> Run:
    """Run pytest in the current directory; its output goes where this program's goes.

    Args:
        arguments: of pytest, those of xdist included.
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
    # A line ends with "\n" only: the id of a test may hold other characters that end lines.
    return path.read_text("utf-8").split("\n")[:-1] if path.exists() else []
