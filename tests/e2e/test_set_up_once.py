"""A session of six tasks on a project with a set-up: it runs once, and no one sees another's."""

from pathlib import Path

import pytest

from starter.console.exit_codes import ExitCode
from tests.e2e.processes import blueflame, repository
from workers.settings import Settings

TASKS = range(1, 7)
_SUBMIT = "{{id: t{0}, title: Note {0}, acceptance_criteria: [It is there], claims: [n{0}.txt]}}"
_SCENE = """
  - role: developer
    task: t{0}
    turns:
      - calls:
          - bash: {{command: 'cat lib/* && python3 write.py {0}'}}
          - write: {{path: n{0}.txt, content: "note {0}\\n"}}
      - expect: installed
        calls:
          - bash: {{command: 'echo $(cat lib/installed; ls lib)'}}
      - expect: "{0}installed seen{0}"
        calls:
          - bash: {{command: 'true'}}
      - calls: [{{submit: {{summary: "It is there."}}}}]
  - role: reviewer
    task: t{0}
    turns:
      - calls:
          - submit_verdict:
              approve: true
              summary: "It is there."
              evidence:
                - {{criterion: "1", path: n{0}.txt, line_start: 1, line_end: 1, quote: note {0}}}
"""
PLAYBOOK = f"""
schema: 1
name: notes
scenes:
  - role: planner
    turns:
      - calls: [{{submit_plan: {{tasks: [{", ".join(map(_SUBMIT.format, TASKS))}]}}}}]
{"".join(map(_SCENE.format, TASKS))}"""
WRITE = """import sys
open("lib/installed", "w").write(sys.argv[1])
open(f"lib/seen{sys.argv[1]}", "w")
"""
CONFIGURATION = """
version: 1
models: {planner: [scripted/a], developer: [scripted/a], reviewer: [scripted/b]}
worktree: {setup: ['mkdir -p lib && cp deps.txt lib/installed']}
gates:
  clean: {run: 'test "$(cat lib/installed; ls lib)" = "$(cat fresh)" && echo x >lib/installed'}
  still: {run: 'test "$(cat lib/installed; ls lib)" = "$(cat fresh)"'}
"""


@pytest.mark.e2e
@pytest.mark.sandbox
@pytest.mark.slow
def test_six_tasks_share_one_set_up(tmp_path: Path) -> None:
    files = {
        "fresh": "installed\ninstalled\n",
        "write.py": WRITE,
        "deps.txt": "installed\n",
        ".gitignore": "lib/\n",
    }
    place = repository(tmp_path / "sample", files)
    config, playbook = tmp_path / "config.yaml", tmp_path / "playbook.yaml"
    config.write_text(CONFIGURATION)
    playbook.write_text(PLAYBOOK)
    settings = Settings(data_dir=tmp_path / "data", temporal_port=0, ui_port=0)
    options = {"--repo": place, "--config": config, "--playbook": playbook}
    given = [part for name, path in options.items() for part in (name, str(path))]
    ended = blueflame(settings, "run", "Notes", *given, "--auto-approve")
    assert ended.returncode == ExitCode.COMPLETE, ended.stdout + ended.stderr
    kept = [each for each in (settings.host_dir / "snapshots").glob("*/*") if each.is_dir()]
    assert len(kept) == 1
