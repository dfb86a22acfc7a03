"""No network: what each attack reaches in a world where everything answers."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.dropped import ROOT
from tests.security.attacks.network import CASES, Reach

_WORLD = (
    *("unshare", "--user", "--map-current-user", "--keep-caps", "--net", "--uts", "--ipc"),
    *(sys.executable, "-P", "-m", "tests.security.world"),
)


@pytest.fixture(scope="module")
def reached(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, int]]:
    """All attacks, run once."""
    top: Path = tmp_path_factory.mktemp("world")
    done = subprocess.run(
        (*_WORLD, str(top)),
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


has_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")


@pytest.mark.parametrize(
    "case",
    [pytest.param(c, id=c.name, marks=[has_curl] if "curl" in c.attack else ()) for c in CASES],
)
def test_nothing_is_reached(reached: dict[str, tuple[int, int]], case: Reach):
    without, inside = reached[case.name]
    assert without > 0, "without the layer nothing was reached either"
    assert inside == 0


def test_every_case_has_a_name_of_its_own():
    assert len({case.name for case in CASES}) == len(CASES)
