"""The words of a pull request: foreign text works as text only, and the marker is always there."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workflows.domain.ids import Commit, SessionId, TaskId
from workflows.domain.plan import Task
from workflows.domain.pull_request import MAX_BODY
from workflows.domain.task import TaskRecord, TaskState
from workflows.policy.delivery.pull_text import as_text, marker, one_line, session_body

SESSION = SessionId("01abc")


def record(**changes: object) -> TaskRecord:
    task = Task(id=TaskId("a"), title="Task a", acceptance_criteria=("it works",), claims=("a",))
    return TaskRecord.model_validate({"task": task, "state": TaskState.MERGED, **changes})


@pytest.mark.parametrize(
    ("text", "dead"),
    [
        ("ask @everyone", "@everyone"),
        ("Fixes #12", "#12"),
        ("see !34", "!34"),
        ("fixes https://github.com/acme/shop/issues/1", "https://"),
        ("<!-- blueflame:01abc/session -->", "<!--"),
        ("<img src=x onerror=alert(1)>", "<img"),
        ("/merge", "\n/merge"),
        ("first\n  /approve", "\n  /approve"),
    ],
)
def test_foreign_words_do_nothing(text: str, dead: str):
    assert dead not in f"\n{as_text(text)}"


@given(st.text(alphabet="@#!/<&- \nab1:", max_size=60))
def test_no_line_of_foreign_words_begins_a_command(text: str):
    shown = as_text(text)
    assert "<" not in shown
    assert not any(line.strip().startswith("/") for line in shown.split("\n"))


def test_what_looks_like_a_secret_is_not_published():
    token = f"ghp_{'a1B2' * 9}"
    goal = f"Log in with {token} and list the issues"
    done = record(summary=f"I used {token}")
    body = session_body(SESSION, goal, f"Use {token}.", [done], "session")
    assert token not in f"{body}{one_line(goal)}"
    assert body.count("[a GitHub token]") == 3


def test_a_title_is_one_line():
    assert one_line("\n  Add @all things \nmore") == "Add @\u200ball things"
    assert len(one_line("x" * 300)) == 100


def test_a_body_tells_what_was_done():
    done = record(
        summary="I did it", verdict="approved by m/x: fine", attempt=2, commit=Commit("c")
    )
    body = session_body(SESSION, "a goal", "a plan", [done], "session")
    for words in ("> a goal", "a plan", "### Task a", "> I did it", "- [x] it works", "m/x: fine"):
        assert words in body
    assert "Attempts: 2" in body
    assert body.endswith(f"{marker(SESSION, 'session')}\n")


@pytest.mark.parametrize(
    ("state", "shown"),
    [
        (TaskState.DEVELOPING, "### Task a (to come)"),
        (TaskState.VALIDATED, "### Task a (to come)"),
        (TaskState.SKIPPED, "### Task a (skipped)"),
        (TaskState.FAILED, "### Task a (failed)"),
    ],
)
def test_what_is_not_merged_is_not_ticked(state: TaskState, shown: str):
    body = session_body(SESSION, "g", "", [record(state=state, summary="half")], "session")
    assert shown in body
    assert "- [ ] it works" in body
    assert "half" not in body


def test_a_long_body_is_cut_and_keeps_its_marker():
    many = [record(summary="@" * 1_400) for _ in range(60)]
    body = session_body(SESSION, "g", "", many, "session")
    assert len(body) <= MAX_BODY
    assert "shortened" in body
    assert marker(SESSION, "session") in body
