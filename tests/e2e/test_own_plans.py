"""Plans of a person's own, typed at the command line: no planner speaks in these playbooks."""

import json
import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest

from starter.console.exit_codes import ExitCode
from tests.e2e.processes import blueflame, repository
from workers.settings import Settings

pytestmark = pytest.mark.e2e

PLAYBOOK = """
schema: 1
name: own-plan
scenes:
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
approvals: {unjudged: allow}
"""
PLAN = """
summary: Write a note.
tasks:
  - {id: note, title: A note, acceptance_criteria: [It is there], claims: [note.txt]}
"""


class Place:
    """A repository, a plan, and what sessions are started with."""

    def __init__(self, root: Path) -> None:
        self.settings = Settings(data_dir=root / "data", temporal_port=0, ui_port=0, sandbox="none")
        self.repository = repository(root / "sample", {"a.txt": "a\n"})
        self.config, self.playbook = root / "config.yaml", root / "playbook.yaml"
        self.plan = root / "plan.yaml"
        self.config.write_text(CONFIGURATION)
        self.playbook.write_text(PLAYBOOK)
        self.plan.write_text(PLAN)

    def types(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return blueflame(self.settings, *arguments)

    def runs(self, *more: str) -> subprocess.CompletedProcess[str]:
        options = {
            "--plan": self.plan,
            "--repo": self.repository,
            "--config": self.config,
            "--playbook": self.playbook,
        }
        given = [part for name, path in options.items() for part in (name, str(path))]
        return blueflame(self.settings, "run", *given, *more)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def served(place: Place) -> Generator[Place]:
    """The same, with server and workers that outlast each command."""
    up = place.types("up", "--detach", "--playbook", str(place.playbook))
    assert up.returncode == ExitCode.COMPLETE, up.stdout + up.stderr
    try:
        yield place
    finally:
        place.types("up", "--stop")


@pytest.mark.slow
def test_a_plan_of_ones_own_is_worked_on_without_a_planner(place: Place) -> None:
    ended = place.runs("--auto-approve")
    assert ended.returncode == ExitCode.COMPLETE, ended.stdout + ended.stderr
    assert "Goal       Write a note." in ended.stdout
    assert "1 merged" in ended.stdout


@pytest.mark.slow
def test_a_persons_own_plan_needs_no_second_approval(place: Place) -> None:
    ended = place.runs("A note, please")
    assert ended.returncode == ExitCode.WAITING, ended.stdout + ended.stderr
    assert "approve note --digest" in ended.stdout
    assert "approve plan" not in ended.stdout


def test_a_faulty_plan_starts_nothing(place: Place) -> None:
    place.plan.write_text("tasks: [{id: a, title: A, acceptance_criteria: [c], claims: ['../x']}]")
    ended = place.runs()
    assert ended.returncode == ExitCode.USAGE
    assert "'../x'" in ended.stderr
    assert not (place.settings.data_dir / "server").exists()


@pytest.mark.slow
def test_a_plan_is_edited_while_its_session_runs(served: Place) -> None:
    session = served.runs().stdout.split()[1]
    before = json.loads(served.types("plan", session, "--json").stdout)
    more = dict(before["plan"]["tasks"][0], id="more", title="Another note", claims=["more.txt"])
    edited = served.plan.with_name("edited.json")
    edited.write_text(json.dumps({"tasks": [*before["plan"]["tasks"], more]}))
    by_digest = ("--file", str(edited), "--digest", before["digest"][:12])
    sent = served.types("plan", "edit", session, *by_digest)
    assert sent.returncode == ExitCode.COMPLETE, sent.stdout + sent.stderr
    assert "plan of 2 tasks" in sent.stdout
    assert "added more" in sent.stdout
    assert "At most $" in sent.stdout
    again = served.types("plan", "edit", session, *by_digest)
    assert again.returncode == ExitCode.STALE
    assert "the plan was changed since this edit began" in again.stderr
    assert "changed the plan: added more" in served.types("status", session).stdout
    without = served.plan.with_name("without.json")
    without.write_text(json.dumps({"tasks": [more]}))
    refused = served.types("plan", "edit", session, "--file", str(without))
    assert refused.returncode == ExitCode.STALE
    assert "task 'note' cannot be removed, because it has started" in refused.stderr
    served.types("stop", session)


ASKING = PLAYBOOK.replace(
    "    turns:\n", '    turns:\n      - calls: [{ask: {question: "Which words?"}}]\n', 1
)


def test_an_agents_question_is_answered_from_another_terminal(place: Place) -> None:
    place.playbook.write_text(ASKING)
    up = place.types("up", "--detach", "--playbook", str(place.playbook))
    assert up.returncode == ExitCode.COMPLETE, up.stdout + up.stderr
    try:
        asked = place.runs()
        assert asked.returncode == ExitCode.WAITING, asked.stdout + asked.stderr
        session = asked.stdout.split()[1]
        assert "dev.note.1 asks: Which words?" in asked.stdout
        assert f'answer {session} note "..."' in asked.stdout
        assert "An agent asks you" in place.types("status", session).stdout
        wrong = place.types("answer", session, "other", "x")
        assert (wrong.returncode, "questions wait of: note" in wrong.stderr) == (6, True)
        sent = place.types("answer", session, "note", "Any words.")
        assert sent.returncode == ExitCode.COMPLETE, sent.stdout + sent.stderr
        ready = place.types("watch", session)
        assert "approve note --digest" in ready.stdout
        place.types("stop", session)
    finally:
        place.types("up", "--stop")


@pytest.mark.slow
def test_unattended_an_agent_that_asks_decides_itself(place: Place) -> None:
    place.playbook.write_text(ASKING)
    ended = place.runs("--auto-approve")
    assert ended.returncode == ExitCode.COMPLETE, ended.stdout + ended.stderr


@pytest.mark.slow
def test_a_decisions_file_answers_an_agent(place: Place) -> None:
    place.playbook.write_text(ASKING)
    decisions = place.plan.with_name("night.yaml")
    decisions.write_text(
        "version: 1\nchangesets: [{decide: approve}]\nanswers: {note: Any words.}\n"
    )
    ended = place.runs("--decisions", str(decisions))
    assert ended.returncode == ExitCode.COMPLETE, ended.stdout + ended.stderr
    assert "answer note, by the decisions file" in ended.stdout
