"""`starter.views.work_words`: columns that are straight, however long the names are."""

import pytest

from starter.views import work_words
from starter.views.live_picture import picture
from tests.unit.starter.shown import changeset, session, task
from workflows.domain.task import TaskState

LONG = "x" * 63
TASKS = (
    task("a", TaskState.MERGED),
    task("parser-of-dates", TaskState.DEVELOPING, attempt=2),
    task(LONG, TaskState.TIMED_OUT, title="Fix it"),
)
CHANGESETS = (
    changeset("a", "merged", None),
    changeset("parser-of-dates", "awaiting_approval"),
    changeset(LONG, "collecting", None),
)


def test_titles_are_aligned_and_a_long_id_moves_only_its_own_title() -> None:
    short, other, long = work_words.task_lines(TASKS)
    assert short.index("Fix") == other.index("Fix") == 14 + len("parser-of-dates (attempt 2)") + 2
    assert other == "  developing  parser-of-dates (attempt 2)  Fix parser-of-dates"
    assert long == f"  timed_out   {LONG}  Fix it"


def test_tasks_of_changesets_stand_below_one_another() -> None:
    short, other, long = work_words.changeset_lines(CHANGESETS)
    assert other == "  awaiting approval parser-of-dates 0123456789ab  (parser-of-dates)"
    assert short.index("(") == other.index("(")
    assert long == f"  collecting        {LONG}  ({LONG})"


def test_one_alone_has_no_column() -> None:
    assert work_words.task_lines([task("a")]) == ["  pending     a  Fix a"]
    assert work_words.changeset_lines([changeset("a", "queued", None)]) == ["  queued      a  (a)"]
    assert work_words.task_lines([]) == work_words.changeset_lines([]) == []


def test_a_narrow_terminal_shows_state_and_name_of_each() -> None:
    shown = picture(session(tasks=TASKS[:2], changesets=CHANGESETS[:2]), "blueflame", 36, 40)
    assert max(map(len, shown)) <= 36
    for each in TASKS[:2]:
        assert any(line.startswith(f"  {each.state:<11} {each.id}") for line in shown)


def test_a_changeset_says_that_no_reviewer_judged_it() -> None:
    facts = {"judged_by": ("tests",), "not_reviewed": "t1: m/x: \x1b[2J"}
    line = changeset("a", "awaiting_approval").model_copy(update=facts)
    said = "judged by: tests, no reviewer gave a verdict: t1: m/x: \\x1b[2J"
    assert work_words.changeset_line(line).endswith(f"(a), {said}")
    assert work_words.unreviewed_task(line) == "t1"
    assert work_words.unreviewed_task(changeset("a", "collecting")) == ""


@pytest.mark.parametrize(
    ("by", "less", "words"),
    [
        ((), "", ""),
        (("tests", "lint"), "", "judged by: tests, lint"),
        (("lint",), "tests: timed out", "judged by: lint (less: tests: timed out)"),
        ((), "tests: could not start", "not judged: tests: could not start"),
    ],
)
def test_a_changeset_names_the_gates_that_judged_it(
    by: tuple[str, ...], less: str, words: str
) -> None:
    line = changeset("a", "merged").model_copy(update={"judged_by": by, "not_judged": less})
    assert work_words.judged(line) == words
    assert work_words.is_unjudged(line) is (bool(less) and not by)
    assert work_words.changeset_line(line).endswith(f"(a), {words}" if words else "(a)")
