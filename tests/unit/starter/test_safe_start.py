"""`python -m starter` in a repository that has packages with our names."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def _start(here: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    environment["BLUEFLAME_DATA_DIR"] = str(here / "data")
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=here,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def _plant(here: Path) -> None:
    for name in ("workflows", "workers", "activities"):
        (here / name).mkdir()
        (here / name / "__init__.py").write_text("raise SystemExit('theirs was imported')\n")


def test_packages_of_the_current_directory_are_not_imported(tmp_path: Path) -> None:
    _plant(tmp_path)
    run = _start(tmp_path, "-m", "starter", "status")
    assert "theirs" not in run.stderr
    assert run.returncode == 5


def test_relative_paths_stay_the_persons(tmp_path: Path) -> None:
    _plant(tmp_path)
    run = _start(tmp_path, "-m", "starter", "run", "goal", "--repo", "sub")
    assert run.returncode == 2
    assert f"'{tmp_path}/sub' is not a folder" in run.stderr


IMPATIENT = """
import sys
class Finder:
    def find_spec(self, name, *rest):
        if name == 'starter.cli':
            raise KeyboardInterrupt
sys.meta_path.insert(0, Finder())
from starter.__main__ import main
main()
"""


def test_ctrl_c_before_anything_is_loaded_is_not_an_error(tmp_path: Path) -> None:
    run = _start(tmp_path, "-P", "-c", IMPATIENT)
    assert (run.returncode, run.stdout, run.stderr) == (130, "", "interrupted: nothing was done\n")
