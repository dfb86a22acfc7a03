"""No network: what each attack reaches in a world where everything answers.

A slow test that `.ci/run` runs nevertheless.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.dropped import ROOT
from tests.security.attacks.network import CASES
from tests.waiting import COMMAND_PATIENCE

_WORLD = (
    *("unshare", "--user", "--map-current-user", "--keep-caps", "--net", "--uts", "--ipc"),
    *(sys.executable, "-P", "-m", "tests.security.world"),
)


def reached(top: Path) -> dict[str, tuple[int, int]]:
    """Return what each attack reached without the sandbox, and in it."""
    done = subprocess.run(
        (*_WORLD, str(top)),
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=COMMAND_PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_nothing_is_reached(tmp_path: Path):
    """All attacks at once: the world in which everything answers is costly to make."""
    has_curl = shutil.which("curl") is not None
    cases = [case for case in CASES if has_curl or "curl" not in case.attack]
    by_name = reached(tmp_path)
    found = {case.name: tuple(by_name[case.name]) for case in cases}
    nothing_without = [name for name, (without, _) in found.items() if without == 0]
    assert nothing_without == [], "without the layer nothing was reached either"
    assert {name: inside for name, (_, inside) in found.items() if inside > 0} == {}


def test_every_case_has_a_name_of_its_own():
    assert len({case.name for case in CASES}) == len(CASES)
