"""The full-screen view, driven by keys as a person would, without a server."""

from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Static

from starter.live.live_app import LiveApp
from starter.live.live_model import Known
from starter.live.row_list import RowList
from starter.sessions.shown_session import ShownSession
from tests.unit.policy.examples import a_plan, a_task
from tests.unit.starter.live.stand_in import StandIn
from tests.unit.starter.shown import HOSTILE, changeset, pull, sent_back, session, task
from tests.waiting import until
from workflows.domain.session.decision import Decision
from workflows.domain.session.question import Question
from workflows.domain.session.session_modes import SessionPhase
from workflows.domain.task import TaskState

READY = session(
    tasks=(task("a", TaskState.VALIDATED, attempt=1), task("b", TaskState.DEVELOPING, attempt=2)),
    changesets=(changeset("a", "awaiting_approval"),),
)
SMALL = (80, 24)


def screen_text(app: LiveApp) -> str:
    """Return what stands on the screen, line by line."""
    return "\n".join(
        "".join(segment.text for segment in line)
        for line in app.screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage] (as a person sees it)
    )


async def sees(app: LiveApp, pilot: Pilot[Any], words: str) -> None:
    async def is_there() -> bool:
        if (fault := app._exception) is not None:  # pyright: ignore[reportPrivateUsage] (at once)
            raise fault
        await pilot.pause()
        return words in screen_text(app)

    await until(is_there, f"{words!r} on the screen", seen=lambda: screen_text(app))


def app_of(source: StandIn) -> LiveApp:
    return LiveApp(source, "me@here")


@pytest.mark.parametrize("size", [SMALL, (160, 50)], ids=str)
async def test_what_waits_stands_above_the_tasks(size: tuple[int, int]) -> None:
    app = app_of(StandIn(READY))
    async with app.run_test(size=size) as pilot:
        await sees(app, pilot, "Waiting for you (1): a approve  r reject  d diff")
        text = screen_text(app)
        assert text.index("changeset a 0123456789ab") < text.index("STATE")
        assert "> developing" in text
        assert "q leave" in text
        assert all(len(line) <= size[0] for line in text.splitlines())


async def test_pull_requests_are_named_above_and_listed_with_their_addresses() -> None:
    proposed = READY.model_copy(update={"pulls": (pull(1), pull(2, key="top", asked=1))})
    app = app_of(StandIn(proposed))
    async with app.run_test(size=SMALL) as pilot:
        await sees(app, pilot, "pull requests: #2 open, 1 to fix; #1 open")
        await pilot.press("6")
        await sees(app, pilot, "#1 open  https://github.com/acme/shop/pull/1")
        await sees(app, pilot, "#2 open, 1 to fix  top  https://github.com/acme/shop/pull/2")
        assert "[6 pulls]" in screen_text(app)


async def test_a_key_approves_what_waits_after_a_question() -> None:
    source = StandIn(READY)
    app = app_of(source)
    async with app.run_test(size=SMALL) as pilot:
        await sees(app, pilot, "changeset a")
        await pilot.press("a")
        await sees(app, pilot, "Approve changeset a (0123456789ab)?")
        await pilot.press("n")
        await sees(app, pilot, "left undecided")
        assert source.sent == []
        await pilot.press("a")
        await sees(app, pilot, "Approve changeset a")
        await pilot.press("y")
        await sees(app, pilot, "approve changeset: done")
    [(name, content)] = source.sent
    assert name == "approve_changeset"
    assert content.model_dump()["digest"] == READY.changesets[0].digest
    assert content.model_dump()["by"] == "me@here"


async def test_a_rejection_carries_the_persons_words() -> None:
    source = StandIn(READY)
    app = app_of(source)
    async with app.run_test(size=SMALL) as pilot:
        await sees(app, pilot, "changeset a")
        await pilot.press("r")
        await sees(app, pilot, "what should the next attempt know?")
        await pilot.press(*"too large", "enter")
        await sees(app, pilot, "reject changeset: done")
    assert source.sent[0][1].model_dump()["reason"] == "too large"


async def test_a_question_needs_an_answer_in_words() -> None:
    question = Question(agent="dev.b.2", about="b", text="Which one?", asked_at=READY.started_at)  # pyright: ignore[reportArgumentType] (an id)
    source = StandIn(ShownSession.model_validate({**dict(READY), "questions": (question,)}))
    app = app_of(source)
    async with app.run_test(size=SMALL) as pilot:
        await sees(app, pilot, "question of b: Which one?")
        await pilot.press("w")
        await sees(app, pilot, "b asks: Which one?")
        await pilot.press("enter")
        await sees(app, pilot, "write something")
        await pilot.press(*"both", "enter")
        await sees(app, pilot, "answer: done")
    assert source.sent[0][1].model_dump()["text"] == "both"


@pytest.mark.parametrize(
    ("key", "typed", "name"),
    [("s", "y", "skip_task"), ("t", "again", "retry_task"), ("m", "hurry", "steer_task")],
)
async def test_keys_act_on_the_chosen_task(key: str, typed: str, name: str) -> None:
    source = StandIn(READY)
    app = app_of(source)
    async with app.run_test(size=SMALL) as pilot:
        await sees(app, pilot, "> developing")
        await pilot.press("down", key, *typed, *([] if key == "s" else ["enter"]))
        await sees(app, pilot, f"{name.replace('_', ' ')}: done")
    assert [(n, c.model_dump()["id"]) for n, c in source.sent] == [(name, "a")]


async def test_a_turn_that_is_none_is_asked_for_again_and_what_follows_is_told() -> None:
    source = StandIn(READY)
    source.follows = "task 'revert-a' takes back task 'a'"
    app = app_of(source)
    async with app.run_test(size=SMALL) as pilot:
        await sees(app, pilot, "> developing")
        await pilot.press("down", "b")
        await sees(app, pilot, "Rewind task a to which turn?")
        await pilot.press(*"soon", "enter")
        await sees(app, pilot, "'soon' is not a turn: write 3")
        assert source.sent == []
        await pilot.press("u", *"no", "enter")
        await sees(app, pilot, "revert task: task 'revert-a' takes back task 'a'")


async def test_an_edit_leaves_the_screen_and_its_result_is_told_in_the_next_one() -> None:
    app = app_of(StandIn(READY))
    async with app.run_test(size=SMALL) as pilot:
        await sees(app, pilot, "changeset a")
        await pilot.press("e")
    assert (app.wants_edit, app.return_value) == (True, None)
    again = LiveApp(StandIn(READY), "me@here", ["plan.yaml:3: no", "your text is kept"])
    async with again.run_test(size=SMALL) as pilot:
        await sees(again, pilot, "your text is kept")
        await pilot.press("q")
        await sees(again, pilot, "changeset a")


@pytest.mark.parametrize("phase", [SessionPhase.PREPARING, SessionPhase.PLANNING])
async def test_without_a_plan_there_is_nothing_to_edit(phase: SessionPhase) -> None:
    app = app_of(StandIn(session(phase=phase)))
    async with app.run_test(size=SMALL) as pilot:
        await sees(app, pilot, "Nothing waits for you")
        await pilot.press("e")
        await sees(app, pilot, "has no plan yet")
    assert not app.wants_edit


async def test_who_decides_too_late_is_told_who_was_first() -> None:
    source = StandIn(READY)
    app = app_of(source)
    async with app.run_test(size=SMALL) as pilot:
        await sees(app, pilot, "changeset a")
        await pilot.press("r")
        await sees(app, pilot, "Reject changeset a")
        first = Decision(
            what="approve_changeset", subject="a", by="ann", source="signal", at=READY.started_at
        )
        merged = (changeset("a", "merged", None),)
        source.now = ShownSession.model_validate(
            {**dict(READY), "changesets": merged, "decisions": (first,)}
        )
        source.refuses = "the session says: changeset 'a' is merged"
        await pilot.press("enter")
        await sees(app, pilot, "ann decided before: approve changeset a")
        await sees(app, pilot, "Nothing waits for you")


async def test_another_persons_decision_shows_at_the_next_look() -> None:
    source = StandIn(READY)
    app = app_of(source)
    async with app.run_test(size=SMALL) as pilot:
        await sees(app, pilot, "Waiting for you (1)")
        source.now = ShownSession.model_validate(
            {**dict(READY), "changesets": (changeset("a", "merged", None),)}
        )
        await sees(app, pilot, "Nothing waits for you")


async def test_pause_becomes_resume() -> None:
    source = StandIn(session(phase=SessionPhase.PAUSED, reason="paused by a person"))
    app = app_of(source)
    async with app.run_test(size=SMALL) as pilot:
        await sees(app, pilot, "paused: paused by a person")
        await pilot.press("p")
        await sees(app, pilot, "Resume the session?")
        await pilot.press("y")
        await sees(app, pilot, "resume: done")


async def test_enter_follows_a_tasks_agent() -> None:
    app = app_of(StandIn(READY))
    async with app.run_test(size=SMALL) as pilot:
        await sees(app, pilot, "> developing")
        await pilot.press("enter")
        await sees(app, pilot, "I begin with the tests.")
        assert "following b" in screen_text(app)
        await pilot.press("1")
        await sees(app, pilot, "> developing")


async def test_comments_on_lines_of_the_diff_go_with_the_decision() -> None:
    source = StandIn(READY)
    app = app_of(source)
    async with app.run_test(size=SMALL) as pilot:
        await sees(app, pilot, "changeset a")
        await pilot.press("d")
        await sees(app, pilot, "+zwei")
        await pilot.press("c")
        await sees(app, pilot, "select a line of the new file")
        await pilot.press(*["down"] * 7, "c")
        await sees(app, pilot, "Comment on this line:")
        await pilot.press(*"in English", "enter")
        await sees(app, pilot, "    # in English")
        await pilot.press("q")
        await sees(app, pilot, "Waiting for you")
        await pilot.press("r")
        await sees(app, pilot, "with 1 comment")
        await pilot.press("enter")
        await sees(app, pilot, "reject changeset: done")
    (comment,) = source.sent[0][1].model_dump()["comments"]
    assert (comment["path"], comment["line"], comment["quote"]) == ("src/a.py", 11, "zwei")
    assert comment["text"] == "in English"


async def test_the_view_ends_with_the_session_and_q_leaves_it() -> None:
    source = StandIn(READY)
    app = app_of(source)
    async with app.run_test(size=SMALL) as pilot:
        await sees(app, pilot, "changeset a")
        source.now = session(phase=SessionPhase.ENDED, outcome="complete", live=False)
        await until(lambda: app.return_value, "the view ends")
    assert app.return_value == source.now
    left = app_of(StandIn(READY))
    async with left.run_test(size=SMALL) as pilot:
        await sees(left, pilot, "changeset a")
        await pilot.press("q")
    assert left.return_value is None


async def test_the_graph_shows_what_each_task_needs_and_its_rows_take_keys() -> None:
    plan = a_plan(a_task("a"), a_task("b", depends_on=["a"]))
    source = StandIn(READY, Known(plan))
    app = app_of(source)
    async with app.run_test(size=SMALL) as pilot:
        await sees(app, pilot, "> developing")
        await pilot.press("2")
        await sees(app, pilot, "needed by b")
        await pilot.press("down", "s")
        await sees(app, pilot, "Skip task b?")


async def test_the_plan_can_be_read_before_it_is_approved() -> None:
    waiting = session(phase=SessionPhase.AWAITING_PLAN, tasks=(task("a"),))
    app = app_of(StandIn(waiting, Known(a_plan(a_task("a")))))
    async with app.run_test(size=SMALL) as pilot:
        await sees(app, pilot, "plan: 1 task")
        await pilot.press("2")
        await sees(app, pilot, "1  a")  # the plan is known
        await pilot.press("d")
        await sees(app, pilot, "writes ")
        await pilot.press("q", "a")
        await sees(app, pilot, "Approve the plan?")


async def test_an_answer_about_a_plan_is_not_sent_once_another_plan_waits() -> None:
    waiting = session(phase=SessionPhase.AWAITING_PLAN, tasks=(task("a"),))
    source = StandIn(waiting, Known(a_plan(a_task("a"))))
    app = app_of(source)
    async with app.run_test(size=SMALL) as pilot:
        await sees(app, pilot, "plan: 1 task")
        await pilot.press("a")
        await sees(app, pilot, "Approve the plan?")
        source.now = sent_back(waiting)
        looks = source.looks

        async def has_looked() -> bool:
            return source.looks > looks + 1

        await until(has_looked, "a look at the other plan")
        await pilot.press("y")
        await sees(app, pilot, "That plan no longer waits")
    assert source.sent == []


async def test_the_chosen_task_stays_chosen_when_it_moves() -> None:
    many = tuple(task(f"t{n:04}", TaskState.PENDING) for n in range(1_000))
    source = StandIn(session(tasks=many))
    app = app_of(source)
    async with app.run_test(size=SMALL) as pilot:
        await sees(app, pilot, "t0000")
        await pilot.press("end")
        await sees(app, pilot, "t0999")
        working = (*many[:-1], task("t0999", TaskState.DEVELOPING, attempt=1))
        source.now = session(tasks=working)
        await sees(app, pilot, "> developing")
        assert app.query_one("#tasks", RowList).chosen == "task t0999"


async def test_foreign_text_neither_styles_nor_controls_the_screen() -> None:
    hostile = session(goal=HOSTILE, tasks=(task("a", title=HOSTILE[:48]),))
    app = app_of(StandIn(hostile))
    async with app.run_test(size=(160, 30)) as pilot:
        await sees(app, pilot, "[/red] [link=x]y[/link]")
        assert "\u001b" not in screen_text(app)
        assert "\u202e" not in screen_text(app)


async def test_without_colour_the_same_words_and_marks_stand_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = app_of(StandIn(READY))
    assert app.no_color
    async with app.run_test(size=SMALL) as pilot:
        await sees(app, pilot, "> developing")
        await sees(app, pilot, "Waiting for you (1)")
        assert isinstance(app.query_one("#head", Static), Static)
