"""A repository whose only gate cannot start: unattended, nothing merges, and the end says why."""

import json
import subprocess
from pathlib import Path

import pytest

from starter.console.exit_codes import ExitCode
from tests.e2e.processes import blueflame, repository
from tests.effort import some
from workers.settings import Settings
from workflows.domain.session.session_config import Pacing

PLAYBOOK = """
schema: 1
name: unjudged
scenes:
  - role: planner
    turns:
      - calls:
          - submit_plan:
              tasks:
                - {id: note, title: A note, acceptance_criteria: [It is there], claims: [note.txt]}
  - role: developer
    turns:
      - calls: [{write: {path: note.txt, content: "a note\\n"}}]
      - calls: [{submit: {summary: "It is there."}}]
  - role: reviewer
    turns:
      - calls:
          - submit_verdict:
              approve: true
              summary: "It is there."
              evidence:
                - {criterion: "1", path: note.txt, line_start: 1, line_end: 1, quote: a note}
"""
CONFIGURATION = """
version: 1
sandbox: none
models: {planner: [scripted/a], developer: [scripted/a], reviewer: [scripted/b]}
gates: {tests: {run: [a-runner-that-is-not-there]}}
"""
DECISIONS = """
version: 1
plan: [{decide: approve}]
changesets: [{decide: approve}]
"""


class Place:
    """A repository, and what its sessions are started with."""

    def __init__(self, root: Path) -> None:
        self.settings = Settings(data_dir=root / "data", temporal_port=0, ui_port=0, sandbox="none")
        self.repository = repository(root / "sample", {"a.txt": "a\n"})
        self.config, self.decisions = root / "config.yaml", root / "decisions.yaml"
        self.playbook = root / "playbook.yaml"
        self.config.write_text(CONFIGURATION)
        self.decisions.write_text(DECISIONS)
        self.playbook.write_text(PLAYBOOK)

    def runs(self, *more: str) -> subprocess.CompletedProcess[str]:
        options = {"--repo": self.repository, "--config": self.config, "--playbook": self.playbook}
        given = [part for name, path in options.items() for part in (name, str(path))]
        return blueflame(self.settings, "run", "A note", *given, *more)

    def branches(self) -> list[str]:
        git = ("git", "-C", str(self.repository), "branch", "--format=%(refname:short)")
        return subprocess.run(git, check=True, capture_output=True, text=True).stdout.split()


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.mark.e2e
@pytest.mark.parametrize("pacing", some([Pacing.WAVE, Pacing.FLOW], 2))
@pytest.mark.slow
def test_unattended_nothing_merges_and_the_end_says_why(place: Place, pacing: Pacing) -> None:
    ended = place.runs("--auto-approve", "--allow-unjudged-base", "--pacing", pacing)
    assert ended.returncode == ExitCode.FAILED, ended.stdout + ended.stderr
    assert "no gate judges the base" in ended.stdout
    assert "no gate judged note: tests: could not start" in ended.stdout
    assert "note not judged: tests: could not start" in ended.stdout
    assert "'a-runner-that-is-not-there' cannot be run" in ended.stdout
    assert place.branches() == ["main"]


@pytest.mark.e2e
def test_a_session_ends_before_it_plans_where_no_gate_can_judge_the_base(place: Place) -> None:
    ended = place.runs("--auto-approve", "--json")
    assert ended.returncode == ExitCode.FAILED, ended.stdout + ended.stderr
    last = json.loads(ended.stdout.splitlines()[-1])
    assert "no gate can judge the base, so nothing was planned" in json.dumps(last)
    assert "'a-runner-that-is-not-there' cannot be run" in json.dumps(last)
    assert "blueflame doctor --repo" in json.dumps(last)
    assert place.branches() == ["main"]


@pytest.mark.e2e
@pytest.mark.parametrize("pacing", some([Pacing.FLOW, Pacing.WAVE], 2))
@pytest.mark.slow
def test_a_decisions_file_leaves_to_a_person_what_no_gate_judged(
    place: Place, pacing: Pacing
) -> None:
    decided = ("--decisions", str(place.decisions), "--allow-unjudged-base")
    left = place.runs(*decided, "--pacing", pacing, "--json")
    assert left.returncode == ExitCode.WAITING, left.stdout + left.stderr
    (line,) = json.loads(left.stdout.splitlines()[-1])["changesets"]
    assert (line["state"], line["judged_by"]) == ("awaiting_approval", [])
    assert line["not_judged"].startswith("tests: could not start")
    assert place.branches() == ["main"]
