"""Other agents' real command lines complete a conversation with `simulate`, without a network."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.foreign_clients.run_foreign_clients import CANNOT
from tests.dropped import ROOT
from tests.waiting import LONG_PATIENCE


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_each_client_completes_its_conversation(tmp_path: Path):
    module = ("-m", "benchmarks.foreign_clients.run_foreign_clients")
    done = subprocess.run(
        (sys.executable, "-P", *module, "--json", "--packages", str(tmp_path)),
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=LONG_PATIENCE,
        check=False,
    )
    if done.returncode == CANNOT:
        pytest.skip(done.stderr.splitlines()[-1])
    counts = json.loads(done.stdout.splitlines()[-1])
    assert counts == {"clients": 3, "conversations_completed": 3}, done.stdout
