"""No session within a session: commands that a session starts are marked, and the mark is obeyed.

The whole session runs with `sandbox: none`, so nothing but the mark stands in the way. That it
would work otherwise is shown by the same gate, which takes the mark off and finds the session.
"""

import json
import sys
from pathlib import Path

import pytest

from starter.console.exit_codes import ExitCode
from tests.e2e.processes import blueflame, environment, repository
from workers.settings import Settings

PLAYBOOK = """
schema: 1
name: nested
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
      - calls: [{bash: {command: "printenv BLUEFLAME_INSIDE > %(seen)s"}}]
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
approvals: {plan: auto, changeset: auto_if_green}
gates: {nested: {run: [bash, "%(gate)s"]}}
worktree: {setup: ["printenv BLUEFLAME_INSIDE > %(setup)s"]}
"""
GATE = """
export %(variables)s
%(python)s -P -m starter run 'another one' --detach --repo . --config %(config)s 2> %(said)s
echo $? > %(code)s
env -u BLUEFLAME_INSIDE %(python)s -P -m starter ls --json > %(listed)s
"""


@pytest.mark.e2e
@pytest.mark.slow
def test_a_gate_that_starts_a_session_is_refused(tmp_path: Path) -> None:
    names = ("gate", "seen", "setup", "said", "code", "listed", "config", "playbook")
    paths = {name: tmp_path / name for name in names}
    settings = Settings(data_dir=tmp_path / "data", temporal_port=0, ui_port=0, sandbox="none")
    variables = {**environment(settings), "BLUEFLAME_TEMPORAL_PORT": "0"}
    more = {
        "variables": " ".join(f"{name}='{text}'" for name, text in variables.items()),
        "python": sys.executable,
    }
    paths["gate"].write_text(GATE % {**paths, **more})
    paths["config"].write_text(CONFIGURATION % paths)
    paths["playbook"].write_text(PLAYBOOK % paths)
    sample = repository(tmp_path / "sample", {"a.txt": "a\n"})
    arguments = ("--repo", str(sample), "--config", str(paths["config"]))
    ended = blueflame(settings, "run", "A note", *arguments, "--playbook", str(paths["playbook"]))
    assert ended.returncode == ExitCode.COMPLETE, ended.stdout + ended.stderr
    assert paths["code"].read_text().strip() == str(int(ExitCode.INSIDE))
    assert "`run` was started by a command of a session" in paths["said"].read_text()
    assert len(json.loads(paths["listed"].read_text())["sessions"]) == 1
    assert (paths["seen"].read_text(), paths["setup"].read_text()) == ("1\n", "1\n")
