"""No session within a session: commands that a session starts are marked, and the mark is obeyed.

The whole session runs with `sandbox: none`, so nothing but the mark stands in the way. That it
would work otherwise is shown by the same gate, which takes the mark off and finds the session.
"""

import json
import sys
from pathlib import Path

import pytest

from starter.console.exit_codes import ExitCode
from tests.e2e.note_session import PLANNER, REVIEWER, NotePlace
from tests.e2e.processes import environment

DEVELOPER = """
  - role: developer
    turns:
      - calls: [{write: {path: note.txt, content: "a note\\n"}}]
      - calls: [{bash: {command: "printenv BLUEFLAME_INSIDE > %(seen)s"}}]
      - calls: [{submit: {summary: "It is there."}}]
"""
CONFIGURATION = """
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
    paths = {name: tmp_path / name for name in ("gate", "seen", "setup", "said", "code", "listed")}
    scenes = (PLANNER, DEVELOPER % paths, REVIEWER)
    place = NotePlace(tmp_path, CONFIGURATION % paths, *scenes)
    variables = {**environment(place.settings), "BLUEFLAME_TEMPORAL_PORT": "0"}
    more = {
        "variables": " ".join(f"{name}='{text}'" for name, text in variables.items()),
        "python": sys.executable,
        "config": place.config,
    }
    paths["gate"].write_text(GATE % {**paths, **more})
    ended = place.runs("A note")
    assert ended.returncode == ExitCode.COMPLETE, ended.stdout + ended.stderr
    assert paths["code"].read_text().strip() == str(int(ExitCode.INSIDE))
    assert "`run` was started by a command of a session" in paths["said"].read_text()
    assert len(json.loads(paths["listed"].read_text())["sessions"]) == 1
    assert (paths["seen"].read_text(), paths["setup"].read_text()) == ("1\n", "1\n")
