"""Plans of a person's own, typed at the command line: no planner speaks in these playbooks."""

import json
import subprocess
from pathlib import Path

import pytest

from starter.console.exit_codes import ExitCode
from tests.e2e.note_session import DEVELOPER, REVIEWER, NotePlace, served

pytestmark = pytest.mark.e2e

PLAN = """
summary: Write a note.
tasks:
  - {id: note, title: A note, acceptance_criteria: [It is there], claims: [note.txt]}
"""


ASKING = DEVELOPER.replace(
    "    turns:\n", '    turns:\n      - calls: [{ask: {question: "Which words?"}}]\n'
)


class PlannedPlace(NotePlace):
    """The repository, and a plan of the person's own."""

    def __init__(self, root: Path, *scenes: str) -> None:
        super().__init__(root, "approvals: {unjudged: allow}", *scenes)
        self.plan = root / "plan.yaml"
        self.plan.write_text(PLAN)

    def runs(self, *more: str) -> subprocess.CompletedProcess[str]:
        return super().runs("--plan", str(self.plan), *more)


@pytest.fixture
def place(tmp_path: Path) -> PlannedPlace:
    return PlannedPlace(tmp_path, DEVELOPER, REVIEWER)


@pytest.fixture
def asking(tmp_path: Path) -> PlannedPlace:
    """One whose developer asks before it writes."""
    return PlannedPlace(tmp_path, ASKING, REVIEWER)


@pytest.mark.slow
def test_a_plan_of_ones_own_is_worked_on_without_a_planner(place: PlannedPlace) -> None:
    ended = place.runs("--auto-approve")
    assert ended.returncode == ExitCode.COMPLETE, ended.stdout + ended.stderr
    assert "Goal       Write a note." in ended.stdout
    assert "1 merged" in ended.stdout


@pytest.mark.slow
def test_a_persons_own_plan_needs_no_second_approval(place: PlannedPlace) -> None:
    ended = place.runs("A note, please")
    assert ended.returncode == ExitCode.WAITING, ended.stdout + ended.stderr
    assert "approve note --digest" in ended.stdout
    assert "approve plan" not in ended.stdout


def test_a_faulty_plan_starts_nothing(place: PlannedPlace) -> None:
    place.plan.write_text("tasks: [{id: a, title: A, acceptance_criteria: [c], claims: ['../x']}]")
    ended = place.runs()
    assert ended.returncode == ExitCode.USAGE
    assert "'../x'" in ended.stderr
    assert not (place.settings.data_dir / "server").exists()


@pytest.mark.slow
def test_a_plan_is_edited_while_its_session_runs(place: PlannedPlace) -> None:
    with served(place):
        session = place.runs().stdout.split()[1]
        before = json.loads(place.types("plan", session, "--json").stdout)
        more = dict(
            before["plan"]["tasks"][0], id="more", title="Another note", claims=["more.txt"]
        )
        edited = place.plan.with_name("edited.json")
        edited.write_text(json.dumps({"tasks": [*before["plan"]["tasks"], more]}))
        by_digest = ("--file", str(edited), "--digest", before["digest"][:12])
        sent = place.types("plan", "edit", session, *by_digest)
        assert sent.returncode == ExitCode.COMPLETE, sent.stdout + sent.stderr
        assert "plan of 2 tasks" in sent.stdout
        assert "added more" in sent.stdout
        assert "At most $" in sent.stdout
        again = place.types("plan", "edit", session, *by_digest)
        assert again.returncode == ExitCode.STALE
        assert "the plan was changed since this edit began" in again.stderr
        assert "changed the plan: added more" in place.types("status", session).stdout
        without = place.plan.with_name("without.json")
        without.write_text(json.dumps({"tasks": [more]}))
        refused = place.types("plan", "edit", session, "--file", str(without))
        assert refused.returncode == ExitCode.STALE
        assert "task 'note' cannot be removed, because it has started" in refused.stderr
        place.types("stop", session)


@pytest.mark.slow
def test_an_agents_question_is_answered_from_another_terminal(asking: PlannedPlace) -> None:
    with served(asking):
        asked = asking.runs()
        assert asked.returncode == ExitCode.WAITING, asked.stdout + asked.stderr
        session = asked.stdout.split()[1]
        assert "dev.note.1 asks: Which words?" in asked.stdout
        assert f'answer {session} note "..."' in asked.stdout
        assert "An agent asks you" in asking.types("status", session).stdout
        wrong = asking.types("answer", session, "other", "x")
        assert (wrong.returncode, "questions wait of: note" in wrong.stderr) == (6, True)
        sent = asking.types("answer", session, "note", "Any words.")
        assert sent.returncode == ExitCode.COMPLETE, sent.stdout + sent.stderr
        ready = asking.types("watch", session)
        assert "approve note --digest" in ready.stdout
        asking.types("stop", session)


@pytest.mark.slow
def test_unattended_an_agent_that_asks_decides_itself(asking: PlannedPlace) -> None:
    ended = asking.runs("--auto-approve")
    assert ended.returncode == ExitCode.COMPLETE, ended.stdout + ended.stderr


@pytest.mark.slow
def test_a_decisions_file_answers_an_agent(asking: PlannedPlace) -> None:
    decisions = asking.plan.with_name("night.yaml")
    decisions.write_text(
        "version: 1\nchangesets: [{decide: approve}]\nanswers: {note: Any words.}\n"
    )
    ended = asking.runs("--decisions", str(decisions))
    assert ended.returncode == ExitCode.COMPLETE, ended.stdout + ended.stderr
    assert "answer note, by the decisions file" in ended.stdout
