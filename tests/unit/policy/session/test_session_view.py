"""A session's picture: small, complete, and with nothing of a model's text as markup."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from tests.unit.policy.examples import a_plan, a_preparation, a_task
from workflows.domain.budget import Bill
from workflows.domain.gate import Judgement
from workflows.domain.ids import Commit, SessionId, TaskId
from workflows.domain.session.notice import NoticeKind
from workflows.domain.session.query_answers import SessionView
from workflows.domain.session.session_config import Routes, SessionConfig
from workflows.domain.session.session_modes import SessionPhase
from workflows.domain.session.session_start import SessionRequest
from workflows.domain.session.session_state import SessionState
from workflows.domain.task import TaskState
from workflows.policy.session import scheduling, session_view, wave_outcomes

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
ROUTES = Routes(planner=("scripted/a",), developer=("scripted/a",), reviewer=("scripted/b",))
CONFIG = SessionConfig(routes=ROUTES)
REQUEST = SessionRequest(
    session=SessionId("s"), goal="g" * 1_000, repository="/given", config=CONFIG
)


def state(*names: str, **facts: Any) -> SessionState:
    empty = SessionState(started_at=NOON, cap_usd=Decimal(10), phase=SessionPhase.RUNNING)
    adopted = scheduling.adopt(empty, a_plan(*map(a_task, names)), CONFIG) if names else empty
    return adopted.model_copy(update=facts)


def validated(session: SessionState) -> SessionState:
    """Return the state with every task validated, and so every changeset awaiting approval."""
    for name, record in session.records.items():
        facts = {"state": TaskState.VALIDATED, "commit": Commit(f"{name:0>40}")}
        session = wave_outcomes.put(session, record.model_copy(update=facts))
    return scheduling.settle(session, CONFIG, NOON)


def test_the_view_is_complete_before_anything_is_known() -> None:
    view = session_view.view(REQUEST, state())
    assert (view.repository, view.base, view.tasks, view.changesets) == ("/given", None, (), ())
    assert view.goal == "g" * 197 + "..."


def test_a_task_takes_at_most_300_bytes_on_average_where_all_await_approval() -> None:
    session = validated(state(*(f"task-{number}" for number in range(1_000))))
    view = session_view.view(REQUEST, session)
    assert all(each.digest for each in view.changesets)
    assert len(view.model_dump_json().encode()) <= 300 * 1_000


def test_costs_name_the_tasks_that_cost_something() -> None:
    session = state("a", "b")
    paid = session.records[TaskId("a")].evolve(cost_usd=Decimal("0.25"))
    costs = session_view.costs(wave_outcomes.put(session, paid))
    assert costs.usd == {"a": Decimal("0.25")}


def test_only_what_waits_for_approval_shows_its_digest() -> None:
    session = validated(state("a", "b"))
    first = session.changesets[0].model_copy(update={"state": "merged"})
    view = session_view.view(REQUEST, wave_outcomes.put_changeset(session, first))
    assert [each.digest is None for each in view.changesets] == [True, False]


def test_a_memo_holds_the_first_tasks_and_the_last_notices() -> None:
    session = validated(state(*(f"t{number}" for number in range(200))))
    for number in range(30):
        session = wave_outcomes.notice(session, NoticeKind.GATE, f"{number}", "x" * 2_000, NOON)
    memo = session_view.short(session_view.view(REQUEST, session))
    assert [len(memo.tasks), len(memo.changesets), len(memo.notices)] == [40, 40, 10]
    assert memo.notices[-1].subject == "29"
    assert len(memo.model_dump_json()) < 30_000


def test_what_is_cut_says_so() -> None:
    task = a_task("a").model_copy(update={"title": "t" * 49})
    record = state("a").records[task.id].model_copy(update={"task": task, "reason": "r" * 60})
    (line,) = session_view.view(REQUEST, wave_outcomes.put(state("a"), record)).tasks
    assert (line.title, line.reason) == ("t" * 45 + "...", "r" * 60)


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"ended": Bill(scripted=True)}, "**scripted model**"),
        ({"prepared": a_preparation(sandbox="none")}, "**No sandbox**"),
        ({"ended": Bill(usd=Decimal("1.5"))}, "Spent: $1.50 of $10.00"),
        (
            {"ended": Bill(usd=Decimal("1.5"), is_estimated=True)},
            "$1.50 of $10.00, partly estimated",
        ),
        ({"phase": SessionPhase.PAUSED, "reason": "the cap"}, "the cap"),
    ],
)
def test_details_say_what_a_person_must_know(facts: dict[str, Any], words: str) -> None:
    assert words in session_view.details(state("a", **facts))
    if words.startswith("**"):
        assert words not in session_view.details(state("a"))


def test_details_of_many_tasks_say_how_many_more() -> None:
    text = session_view.details(state(*(f"t{number}" for number in range(50))))
    assert "10 more" in text
    assert "| t39 |" in text
    assert "| t40 |" not in text


@pytest.mark.parametrize(
    "evil",
    [
        "x` | [click](http://e) \n# **big**\x1b[31m",
        "[/red] [link=x]y[/link] \u001b[2J ✓ <script>alert(1)</script> | `x`",
    ],
)
def test_r58_a_models_text_is_never_markup(evil: str) -> None:
    task = a_task("a").model_copy(update={"title": evil})
    record = state("a").records[task.id].model_copy(update={"task": task})
    session = wave_outcomes.put(state("a", reason=evil), record)
    session = wave_outcomes.notice(session, NoticeKind.GATE, "", evil, NOON)
    outside = "".join(session_view.details(session).split("`")[::2])
    for bad in ("click", "# ", "**big", "\x1b", "link", "script"):
        assert bad not in outside


@pytest.mark.parametrize(
    ("judged", "words"),
    [
        (Judgement(by=("tests",)), "awaiting_approval, judged by: tests, **not reviewed**: `a: x`"),
        (Judgement(nothing=("tests: y",)), "**not judged**: `tests: y`, **not reviewed**: `a: x`"),
    ],
)
def test_details_say_that_no_reviewer_gave_a_verdict(judged: Judgement, words: str) -> None:
    session = validated(state("a"))
    line = session.changesets[0].model_copy(update={"judgement": judged.without_review("a: x")})
    session = wave_outcomes.put_changeset(session, line)
    assert words in session_view.details(session)
    view = session_view.view(REQUEST, session)
    again = SessionView.model_validate_json(view.model_dump_json())
    assert [each.not_reviewed for each in again.changesets] == ["a: x"]
