"""The demo's sample and playbook fit together: every scripted edit, test run and quote is true."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from activities.adapters.models.scripted.playbook import Playbook, parse_playbook
from activities.gates.detection import detect_gates
from tests.unit.demo_course import PLAYBOOK, SAMPLE, Course, git
from workflows.domain.agent.model_values import ModelFacts, Role
from workflows.domain.plan import Plan
from workflows.domain.session.session_modes import Pacing
from workflows.domain.task import TaskRecord, TaskState
from workflows.domain.verdict import EvidencePlace
from workflows.policy.plan.changeset_forming import form_changesets
from workflows.policy.plan.plan_check import read_plan
from workflows.policy.review.verdict_rules import judge
from workflows.policy.session.readiness import next_batch

REVIEWER = ModelFacts(
    provider="scripted",
    model="reviewer",
    family="scripted-reviewer",
    window_tokens=1,
    max_output_tokens=1,
    prices=None,
)


@pytest.fixture
def playbook() -> Playbook:
    return parse_playbook(PLAYBOOK.read_text("utf-8"), PLAYBOOK.name)


@pytest.fixture
def plan(playbook: Playbook) -> Plan:
    turns = next(scene for scene in playbook.scenes if scene.role is Role.PLANNER).turns
    plan = read_plan(turns[-1].calls[0].arguments)
    assert isinstance(plan, Plan), plan
    return plan


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    folder = tmp_path / "sample"
    shutil.copytree(SAMPLE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    for arguments in (("init", "--quiet"), ("add", "--all"), ("commit", "--message", "Begin")):
        assert git(folder, *arguments).returncode == 0
    return folder


def run_suite(folder: Path) -> "subprocess.CompletedProcess[str]":
    argv = [sys.executable, "-B", "-m", "unittest", "discover"]
    return subprocess.run(argv, cwd=folder, check=False, capture_output=True, text=True)


def test_the_plan_has_dependencies_a_group_and_four_tasks_that_start_together(plan: Plan):
    ready = {
        task.id: TaskRecord(
            task=task, state=TaskState.PENDING if task.depends_on else TaskState.READY
        )
        for task in plan.tasks
    }
    assert len(plan.tasks) == 7
    assert [task.id for task in plan.tasks if task.depends_on] == [
        "amounts",
        "invoice-text",
        "guide",
    ]
    assert ("invoice-numbers", "invoice-text") in [c.tasks for c in form_changesets(plan)]
    assert set(next_batch(ready, Pacing.WAVE, None)) == {
        "currencies",
        "invoice-numbers",
        "discounts",
        "tax",
    }


def test_amounts_start_although_the_changelog_is_held_by_work_that_waits_for_them(plan: Plan):
    """The demo's conflict comes from here: without this rule the session would stand still."""
    waits = {"amounts": TaskState.READY, "invoice-numbers": TaskState.VALIDATED}
    waits |= {"invoice-text": TaskState.PENDING, "guide": TaskState.PENDING}
    records = {
        task.id: TaskRecord(task=task, state=waits.get(task.id, TaskState.MERGED), attempt=1)
        for task in plan.tasks
    }
    assert next_batch(records, Pacing.WAVE, None) == ("amounts",)


def test_the_sample_shows_its_own_gate_and_fails_it(sample: Path):
    files = {
        path.relative_to(sample).as_posix(): path.read_bytes()
        for path in sample.rglob("*.*")
        if path.is_file() and ".git" not in path.parts
    }
    assert [gate.argv for gate in detect_gates(files)] == [("python", "-m", "unittest", "discover")]
    before = run_suite(sample)
    assert before.returncode == 1
    assert "FAILED (failures=4, errors=19)" in before.stderr


@pytest.mark.slow
async def test_the_playbook_leads_through_its_rejections_and_its_conflict_to_a_green_suite(
    sample: Path, playbook: Playbook, plan: Plan
):
    course = Course(sample, playbook, plan)
    base = course.git("rev-parse", "HEAD").strip()

    numbers = await approved(course, "invoice-numbers", 1, base)
    head = course.merge(base, await approved(course, "currencies", 1, base))

    hasty = await course.develop("discounts", 1, base)
    broken = run_suite(sample).stderr
    assert "FAIL: test_the_total_never_goes_below_zero" in broken
    head = course.merge(head, await approved(course, "discounts", 2, hasty, broken))

    wrong = await course.develop("tax", 1, base)
    finding = await rejected(course, "tax", 1, wrong)
    head = course.merge(head, await approved(course, "tax", 2, wrong, finding))

    head = course.merge(head, await approved(course, "amounts", 1, head))
    text = await approved(course, "invoice-text", 1, head)
    head = course.merge(head, await approved(course, "guide", 1, head))

    conflict = git(sample, "merge-tree", "--write-tree", "--name-only", "--messages", head, numbers)
    assert (conflict.returncode, conflict.stdout.splitlines()[1]) == (1, "CHANGELOG.md")
    tree = conflict.stdout.splitlines()[0]
    start = course.git("commit-tree", tree, "-p", head, "-m", "as it is brought onto the head")
    notes = f"{conflict.stdout}\nGo on from it: conflict markers show them"
    again = await approved(course, "invoice-numbers", 2, start.strip(), notes)
    head = course.merge(head, again)
    course.merge(head, text)

    after = run_suite(sample)
    assert after.returncode == 0, after.stderr


async def approved(course: Course, task: str, attempt: int, start: str, notes: str = "") -> str:
    """Play an attempt and its review; every criterion must have evidence that stands."""
    commit = await course.develop(task, attempt, start, notes)
    submission = await course.review(task, attempt, commit)
    criteria = course.task(task).acceptance_criteria
    holds = [course.stands(commit, each) for each in submission.evidence]
    assert holds == [True] * len(criteria), submission.evidence
    verdict = judge(submission, criteria, [EvidencePlace.CHANGED] * len(holds), REVIEWER)
    assert verdict.decision == "approve"
    return commit


async def rejected(course: Course, task: str, attempt: int, commit: str) -> str:
    """Play a review that ends in a rejection, and return its one finding."""
    submission = await course.review(task, attempt, commit)
    criteria = course.task(task).acceptance_criteria
    assert judge(submission, criteria, [], REVIEWER).decision == "reject"
    (finding,) = submission.findings
    assert finding.line is not None
    lines = course.git("show", f"{commit}:{finding.path}").splitlines()
    assert lines[finding.line - 1] == "    return (net * rate + 50) // 100"
    return finding.text
