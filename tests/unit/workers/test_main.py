"""`python -m workers` as it is started: what it refuses, and for which roles."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("role", "said"),
    [
        ("host", "error: BLUEFLAME_CGROUP='/nowhere' is not a cgroup of version 2"),
        ("models", "waiting: the Temporal server at '127.0.0.1:1' does not answer"),
    ],
)
def test_only_a_host_needs_the_place_for_cgroups(tmp_path: Path, role: str, said: str) -> None:
    variables = {
        "BLUEFLAME_DATA_DIR": str(tmp_path),
        "BLUEFLAME_CGROUP": "/nowhere",
        "TEMPORAL_ADDRESS": "127.0.0.1:1",
        "PYTHONPATH": str(ROOT),
    }
    with subprocess.Popen(
        (sys.executable, "-P", "-m", "workers", "--roles", role),
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **variables},
    ) as worker:
        assert worker.stdout is not None
        try:
            assert worker.stdout.readline().startswith(said)
        finally:
            worker.terminate()
