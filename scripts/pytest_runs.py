"""One run of pytest, with what failed in it."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]


class Run(NamedTuple):
    """How pytest ended, and the failures by test: the end of what each said first."""

    code: int
    failures: dict[str, str]


def run(arguments: list[str]) -> Run:
    """Run pytest in the current directory; its output goes where this program's goes.

    Args:
        arguments: of pytest, those of xdist included.
    """
    with tempfile.TemporaryDirectory(prefix="blueflame-runs-") as name:
        folder = Path(name)
        folder.chmod(0o777)  # started as root, pytest writes as another user
        listed = folder / "failures.jsonl"
        plugin = ["-p", "tests.failures", "--failures-to", str(listed)]
        command = [sys.executable, "-m", "pytest", *plugin, *arguments]
        code = subprocess.run(command, check=False).returncode
        lines = listed.read_text().splitlines() if listed.exists() else []
    failures: dict[str, str] = {}
    for line in lines:
        failure = json.loads(line)
        failures.setdefault(failure["test"], failure["text"])
    return Run(code, failures)
