"""A repository whose only gate cannot start: unattended, nothing merges, and the end says why."""

import json
from pathlib import Path

import pytest

from starter.console.exit_codes import ExitCode
from tests.e2e.note_session import DEVELOPER, PLANNER, REVIEWER, NotePlace
from workflows.domain.session.session_modes import Pacing

GATE = "gates: {tests: {run: [a-runner-that-is-not-there]}}"
DECISIONS = """
version: 1
plan: [{decide: approve}]
changesets: [{decide: approve}]
"""


@pytest.fixture
def place(tmp_path: Path) -> NotePlace:
    return NotePlace(tmp_path, GATE, PLANNER, DEVELOPER, REVIEWER)


@pytest.mark.e2e
@pytest.mark.parametrize("pacing", [Pacing.WAVE, Pacing.FLOW])
@pytest.mark.slow
def test_unattended_nothing_merges_and_the_end_says_why(place: NotePlace, pacing: Pacing) -> None:
    ended = place.runs("A note", "--auto-approve", "--allow-unjudged-base", "--pacing", pacing)
    assert ended.returncode == ExitCode.FAILED, ended.stdout + ended.stderr
    assert "no gate judges the base" in ended.stdout
    assert "no gate judged note: tests: could not start" in ended.stdout
    assert "note not judged: tests: could not start" in ended.stdout
    assert "'a-runner-that-is-not-there' cannot be run" in ended.stdout
    assert place.branches() == ["main"]


@pytest.mark.e2e
@pytest.mark.slow
def test_a_session_ends_before_it_plans_where_no_gate_can_judge_the_base(place: NotePlace) -> None:
    ended = place.runs("A note", "--auto-approve", "--json")
    assert ended.returncode == ExitCode.FAILED, ended.stdout + ended.stderr
    last = json.loads(ended.stdout.splitlines()[-1])
    assert "no gate can judge the base, so nothing was planned" in json.dumps(last)
    assert "'a-runner-that-is-not-there' cannot be run" in json.dumps(last)
    assert "blueflame doctor --repo" in json.dumps(last)
    assert place.branches() == ["main"]


@pytest.mark.e2e
@pytest.mark.parametrize("pacing", [Pacing.FLOW, Pacing.WAVE])
@pytest.mark.slow
def test_a_decisions_file_leaves_to_a_person_what_no_gate_judged(
    place: NotePlace, tmp_path: Path, pacing: Pacing
) -> None:
    decisions = tmp_path / "decisions.yaml"
    decisions.write_text(DECISIONS)
    decided = ("--decisions", str(decisions), "--allow-unjudged-base")
    left = place.runs("A note", *decided, "--pacing", pacing, "--json")
    assert left.returncode == ExitCode.WAITING, left.stdout + left.stderr
    (line,) = json.loads(left.stdout.splitlines()[-1])["changesets"]
    assert (line["state"], line["judged_by"]) == ("awaiting_approval", [])
    assert line["not_judged"].startswith("tests: could not start")
    assert place.branches() == ["main"]
