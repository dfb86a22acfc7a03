"""`init` and `doctor --repo` with toolchains as people really have them, in their homes.

Each test takes over the lines that `init` prints for the person's own configuration, and nothing
else. It is skipped where the machine does not have the tool. As root the home is often closed
(mode 0700), and worker and sandbox run as another user.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.dropped import ROOT
from tests.e2e.processes import repository
from tests.waiting import COMMAND_PATIENCE

pytestmark = [pytest.mark.e2e, pytest.mark.sandbox, pytest.mark.slow]

NEWER = (
    "import sys, unittest\n\nclass T(unittest.TestCase):\n"
    "    def test_version(self): self.assertEqual(sys.version.split()[0], '{version}')\n"
)
CRATE = {
    ".gitignore": "/target\n",
    "Cargo.toml": '[package]\nname = "small"\nversion = "0.1.0"\nedition = "2021"\n',
    "Cargo.lock": 'version = 3\n\n[[package]]\nname = "small"\nversion = "0.1.0"\n',
    "src/lib.rs": "pub fn one() -> u8 { 1 }\n\n#[test]\nfn is_one() { assert_eq!(one(), 1) }\n",
}
PACKAGE = {
    "package.json": '{"name": "small", "version": "1.0.0", "scripts": {"test": "node --test"}}\n',
    "small.test.js": "const assert = require('node:assert');\n"
    "require('node:test')('place', () => assert.match(process.execPath, /[.]nvm/));\n",
}


class Person:
    """A person at their machine, with a configuration of their own that is still empty."""

    def __init__(self, top: Path, home: Path) -> None:
        self._top = top
        self._environment = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(home),
            "XDG_CONFIG_HOME": str(top / "config"),
            "PYTHONPATH": str(ROOT),
            "BLUEFLAME_DATA_DIR": str(top / "data"),
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "safe.directory",
            "GIT_CONFIG_VALUE_0": "*",
        }

    def judges(self, files: Mapping[str, str]) -> dict[str, tuple[str, str]]:
        """Return what `doctor --repo` says of each gate, after nothing but what `init` said."""
        repo = repository(self._top / "repo", dict(files))
        said = self._types("init", cwd=repo)
        own = re.findall(r"^(?:Your own|) {2,}((?:environment|worktree): .*)$", said, re.MULTILINE)
        assert own, said
        place = self._top / "config" / "blueflame" / "blueflame.yaml"
        place.parent.mkdir(parents=True)
        place.write_text("\n".join(("version: 1", *own, "")))
        checks = json.loads(self._types("doctor", "--repo", ".", "--json", cwd=repo))["checks"]
        found = {check["name"]: (check["state"], check["text"]) for check in checks}
        return {name: each for name, each in found.items() if name.startswith(("gate ", "set-up"))}

    def _types(self, *arguments: str, cwd: Path) -> str:
        return subprocess.run(
            (sys.executable, "-P", "-m", "starter", *arguments),
            cwd=cwd,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=COMMAND_PATIENCE,
        ).stdout


def newer_python(top: Path) -> None:
    """A pyenv Python newer than the one that runs Blue Flame, asked for by `.python-version`."""
    versions = Path.home() / ".pyenv" / "versions"
    if not os.access(versions, os.R_OK):
        pytest.skip(f"no pyenv under {Path.home()}")
    ours = sys.version_info[:2]
    numbers = [tuple(map(int, each.name.split("."))) for each in versions.glob("3.*.[0-9]*")]
    newer = sorted(number for number in numbers if number[:2] > ours)
    if not newer:
        pytest.skip(f"no Python newer than {ours} in {versions}: pyenv install 3.13")
    version = ".".join(map(str, newer[-1]))
    files = {".python-version": f"{version}\n", "test_a.py": NEWER.format(version=version)}
    checks = Person(top, Path.home()).judges(files)
    assert checks["gate unittest"] == ("well", checks["gate unittest"][1])
    assert "can judge: passed" in checks["gate unittest"][1]


def pinned_rust(top: Path) -> None:
    """A rustup toolchain that `rust-toolchain.toml` pins."""
    installed = Path.home() / ".rustup" / "toolchains"
    if not os.access(installed, os.R_OK) or not any(installed.iterdir()):
        pytest.skip(f"no rustup toolchain under {Path.home()}: rustup toolchain install stable")
    channel = min(each.name for each in installed.iterdir()).partition("-")[0]
    files = {**CRATE, "rust-toolchain.toml": f'[toolchain]\nchannel = "{channel}"\n'}
    checks = Person(top, Path.home()).judges(files)
    assert "can judge: passed" in checks["gate cargo-test"][1]


def node_of_nvm(top: Path) -> None:
    """A Node where nvm keeps it, in a closed home, asked for by `.nvmrc`."""
    program, packages = shutil.which("node"), Path("/usr/lib/node_modules/npm")
    if program is None or not packages.is_dir():
        pytest.skip("no Node with npm to put where nvm would")
    version = subprocess.run((program, "--version"), capture_output=True, text=True, check=True)
    name = version.stdout.strip()
    home = top / "home"
    place = home / ".nvm" / "versions" / "node" / name
    (place / "bin").mkdir(parents=True)
    shutil.copy(program, place / "bin" / "node")
    shutil.copytree(packages, place / "lib" / "node_modules" / "npm", symlinks=True)
    (place / "bin" / "npm").symlink_to("../lib/node_modules/npm/bin/npm-cli.js")
    home.chmod(0o700)
    checks = Person(top, home).judges({**PACKAGE, ".nvmrc": f"{name[1:]}\n"})
    assert "can judge: passed" in checks["gate npm-test"][1]


CASES = pytest.mark.parametrize("case", [newer_python, pinned_rust, node_of_nvm])


@CASES
def test_init_and_doctor_find_what_the_person_has(case: Callable[[Path], None], tmp_path: Path):
    case(tmp_path)


@CASES
@pytest.mark.root
def test_they_find_it_also_in_roots_closed_home(case: Callable[[Path], None], tmp_path: Path):
    case(tmp_path)
