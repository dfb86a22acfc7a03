"""`doctor --repo` on real repositories, in the sandbox: which gates can judge."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.dropped import ROOT
from tests.e2e.processes import repository
from tests.security.company import wheel

pytestmark = [pytest.mark.e2e, pytest.mark.sandbox]

UNITTEST = (
    "import unittest\n\nclass T(unittest.TestCase):\n    def test_a(self): self.assertTrue(%s)\n"
)


class Person:
    """A person with a closed home, a configuration of their own, and a toolchain in it."""

    def __init__(self, top: Path) -> None:
        self.home = top / "home"
        (self.home / "tools" / "bin").mkdir(parents=True)
        program = self.home / "tools" / "bin" / "judge"
        program.write_text("#!/bin/sh\necho fine\n")
        program.chmod(0o755)
        self.home.chmod(0o700)
        self.top = top

    def says(self, text: str) -> None:
        folder = self.home / ".config" / "blueflame"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "blueflame.yaml").write_text(f"version: 1\n{text}\n")

    def doctor(self, files: dict[str, str]) -> dict[str, tuple[str, str]]:
        repo = repository(self.top / "repo", files)
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "PYTHONPATH": str(ROOT),
            "BLUEFLAME_DATA_DIR": str(self.top / "data"),
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "safe.directory",
            "GIT_CONFIG_VALUE_0": "*",
        }
        done = subprocess.run(
            (sys.executable, "-P", "-m", "starter", "doctor", "--repo", str(repo), "--json"),
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stdout, done.stderr
        checks = json.loads(done.stdout)["checks"]
        assert not list((self.top / "data" / "host" / "worktrees").rglob("*.trial"))
        return {check["name"]: (check["state"], check["text"]) for check in checks}


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return Person(tmp_path)


def judged_by_own_tools(person: Person) -> None:
    person.says("environment: {toolchains: [~/tools]}")
    checks = person.doctor(
        {
            "blueflame.yaml": "version: 1\n"
            "worktree: {setup: ['mkdir made && echo \"*\" >made/.gitignore && id -u >made/by']}\n"
            "gates: {own: {run: judge}, made: {run: test -f made/by}, no: {run: absent-one}}\n",
        }
    )
    assert checks["toolchains"] == ("well", f"{person.home}/tools")
    assert checks["set-up"][0] == "well"
    assert "kept from now on" in checks["set-up"][1]
    assert checks["gate own"][0] == "well"
    assert checks["gate made"][0] == "well"
    state, text = checks["gate no"]
    assert (state, text.startswith("cannot judge: could not start ('absent-one'")) == (
        "missing",
        True,
    )


@pytest.mark.slow
def test_gates_run_with_the_toolchains_of_a_closed_home(person: Person):
    judged_by_own_tools(person)


@pytest.mark.root
def test_gates_run_with_them_also_where_root_asks(person: Person):
    judged_by_own_tools(person)


def installed_from_an_index_of_a_closed_home(person: Person):
    packages = person.top / "packages"
    packages.mkdir()
    (packages / "inhouse-1.0-py3-none-any.whl").write_bytes(wheel())
    pip = person.home / ".config" / "pip"
    pip.mkdir(parents=True)
    (pip / "pip.conf").write_text(f"[global]\nfind-links = {packages}\nno-index = true\n")
    person.says(
        f"environment: {{toolchains: [{packages}]}}\nworktree: {{network: [mirror.example.org]}}"
    )
    install = "python3 -m venv .venv && .venv/bin/pip install --disable-pip-version-check inhouse"
    checks = person.doctor(
        {
            ".gitignore": ".venv/\n",
            "blueflame.yaml": f"version: 1\nworktree: {{setup: ['{install}']}}\n"
            "gates: {own: {run: .venv/bin/python -c 'import inhouse'}}\n",
        }
    )
    assert checks["set-up"][0] == "well", checks["set-up"][1]
    assert checks["gate own"][0] == "well"


@pytest.mark.slow
def test_set_up_finds_packages_where_the_persons_pip_does(person: Person):
    installed_from_an_index_of_a_closed_home(person)


@pytest.mark.root
def test_set_up_finds_them_also_where_root_asks(person: Person):
    installed_from_an_index_of_a_closed_home(person)


@pytest.mark.slow
def test_a_gate_that_fails_on_the_base_can_judge(person: Person):
    checks = person.doctor({"test_a.py": UNITTEST % "False"})
    state, text = checks["gate unittest"]
    assert (state, "can judge, but fails on the base" in text) == ("well", True)
    assert "test_a" in text


@pytest.mark.slow
def test_a_gate_that_fails_on_the_base_and_names_no_tests_judges_nothing(person: Person):
    gate = "version: 1\ngates: {build: {run: 'echo error: broken; exit 1'}}\n"
    state, text = person.doctor({"blueflame.yaml": gate})["gate build"]
    assert (state, "fails on the base and names no tests" in text) == (
        "missing",
        True,
    )
    assert "(broken)" in text


@pytest.mark.slow
def test_what_a_gate_lacks_is_a_line_to_add(person: Person):
    checks = person.doctor({"conftest.py": "", "test_a.py": "def test_a(): pass\n"})
    state, text = checks["gate pytest"]
    assert state == "missing"
    assert "no module 'pytest'" in text
    assert "blueflame.yaml:         worktree: {setup: [" in text
    assert "your own configuration: worktree: {network: [" in text


@pytest.mark.slow
def test_a_set_up_that_fails_is_told_and_no_gate_runs(person: Person):
    checks = person.doctor(
        {"blueflame.yaml": "version: 1\nworktree: {setup: ['echo why; exit 3']}\n"}
    )
    state, text = checks["set-up"]
    assert (state, "exited with 3" in text, "why" in text) == ("missing", True, True)
    assert not [name for name in checks if name.startswith("gate ")]
