"""Two sessions of one task on a repository: the first cuts its history, the next wants it all."""

from pathlib import Path

import pytest

from starter.console.exit_codes import ExitCode
from tests.e2e.processes import blueflame, repository
from tests.unit.activities.adapters.git.home import plain_git
from workers.settings import Settings

PLAYBOOK = """
schema: 1
name: history
scenes:
  - role: planner
    turns:
      - calls:
          - submit_plan:
              tasks: [{id: t, title: Note, acceptance_criteria: [It is there], claims: [n.txt]}]
  - role: developer
    task: t
    turns:
      - calls: [{bash: {command: 'git describe --tags; git rev-list --count HEAD'}}]
      - expect: "v1-1-g"
        calls: [{write: {path: n.txt, content: "note\\n"}}]
      - calls: [{submit: {summary: "It is there."}}]
  - role: reviewer
    task: t
    turns:
      - calls:
          - submit_verdict:
              approve: true
              summary: "It is there."
              evidence:
                - {criterion: "1", path: n.txt, line_start: 1, line_end: 1, quote: note}
"""
CONFIGURATION = """
version: 1
models: {{planner: [scripted/a], developer: [scripted/a], reviewer: [scripted/b]}}
worktree: {{history: {history}}}
gates:
  tag: {{run: 'git describe --tags | grep -q ^v1-'}}
  count: {{run: 'test "$(git rev-list --count v1)" = {commits}'}}
"""
CUT = "the history is cut: worktrees hold its newest 3 commits"


@pytest.mark.e2e
@pytest.mark.sandbox
@pytest.mark.slow
def test_work_on_a_cut_history_is_delivered_and_the_next_session_gets_it_whole(
    tmp_path: Path,
) -> None:
    place = repository(tmp_path / "sample", {"a.txt": "0\n"})
    for number in range(1, 6):
        plain_git(place, "commit", "-q", "--allow-empty", "-m", f"{number}")
    plain_git(place, "tag", "v1", "HEAD~1")
    config, playbook = tmp_path / "config.yaml", tmp_path / "playbook.yaml"
    playbook.write_text(PLAYBOOK)
    settings = Settings(data_dir=tmp_path / "data", temporal_port=0, ui_port=0)
    options = {"--repo": place, "--config": config, "--playbook": playbook}
    given = [part for name, path in options.items() for part in (name, str(path))]
    for history, commits in (("3", 2), ("full", 5)):
        config.write_text(CONFIGURATION.format(history=history, commits=commits))
        ended = blueflame(settings, "run", "Note", *given, "--auto-approve")
        assert ended.returncode == ExitCode.COMPLETE, ended.stdout + ended.stderr
        assert (CUT in ended.stdout + ended.stderr) == (history == "3")
    branches = plain_git(place, "for-each-ref", "--format=%(refname)", "refs/heads/blueflame")
    counts = [plain_git(place, "rev-list", "--count", name) for name in branches.split()]
    assert [int(count) > 6 for count in counts] == [True, True]
    for path in (place, *(settings.host_dir / "repositories").glob("*.git")):
        assert "missing" not in plain_git(path, "fsck", "--strict", "--connectivity-only")
