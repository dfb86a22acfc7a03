"""Toolchains under a closed home, for a host process that was started as root or by their owner."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.dropped import ROOT
from tests.unit.workers.hosting.toolchain_probe import MODULE
from workers.settings import DROPPED_ID

pytestmark = pytest.mark.sandbox


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home that is closed to others, with a toolchain, a link to it, and a key."""
    home = tmp_path / "home"
    (home / ".nvm" / "v22" / "bin").mkdir(parents=True)
    program = home / ".nvm" / "v22" / "bin" / "node"
    program.write_text("#!/bin/sh\necho node 22\n")
    program.chmod(0o755)
    (home / ".nvm" / "current").symlink_to("v22")
    (home / ".ssh").mkdir()
    (home / ".ssh" / "id").write_text("canary-1")
    (home / ".nvm" / "stolen").symlink_to("../.ssh")
    home.chmod(0o700)
    return home


def run(home: Path, names: list[Path], script: str) -> tuple[int, str]:
    told = [str(home / ".nvm" / each) for each in ("v22", "current", "stolen", "gone")]
    env = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "HOME": str(home),
        "BLUEFLAME_DATA_DIR": str(home / "data"),
        "BLUEFLAME_TOOLCHAINS": json.dumps(told),
    }
    asked = json.dumps([str(each) for each in names])
    done = subprocess.run(
        (sys.executable, "-P", "-m", MODULE, asked, script),
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout, done.stderr
    uid, said = json.loads(done.stdout)
    return uid, said


def judge(home: Path, uid: int) -> None:
    current = home / ".nvm" / "current"
    script = f"node; {current}/bin/node; cat {home}/.ssh/id; ls -A {home} {home}/.nvm"
    assert run(home, [current], script) == (
        uid,
        (
            f"node 22\nnode 22\ncat: {home}/.ssh/id: No such file or directory\n"
            f"{home}:\n.nvm\n\n{home}/.nvm:\ncurrent\nv22\n"
        ),
    )
    for refused in ("stolen", "gone"):
        _, said = run(home, [home / ".nvm" / refused], "true")
        assert said.startswith("refused: toolchain")


@pytest.mark.slow
def test_their_owner_shows_them(home: Path):
    judge(home, os.getuid())


@pytest.mark.root
def test_root_shows_them_after_it_gave_up_its_rights(home: Path):
    judge(home, DROPPED_ID)
