"""Which subject a key is about, and what is sent: tables."""

from typing import Any

import pytest

from starter.console.command_errors import CommandError
from starter.live.key_decisions import Act, Selected, offered, prompt
from tests.unit.starter.shown import changeset, session, task
from workflows.domain.ids import AgentId
from workflows.domain.session.question import Question
from workflows.domain.session.session_modes import SessionPhase
from workflows.domain.task import TaskState

TASKS = (task("a", TaskState.VALIDATED), task("b", TaskState.FAILED), task("c"))
ONE = session(
    tasks=TASKS, changesets=(changeset("a", "awaiting_approval"), changeset("b", "rejected", None))
)
TWO = session(
    tasks=TASKS,
    changesets=(changeset("a", "awaiting_approval"), changeset("c", "awaiting_approval")),
)
PLAN = session(phase=SessionPhase.AWAITING_PLAN, tasks=TASKS)
NO_PLAN = session(phase=SessionPhase.AWAITING_PLAN, reason="the planner gave up")
PAUSED = session(phase=SessionPhase.PAUSED)


def asked(*about: str) -> Any:
    return session(
        tasks=TASKS,
        questions=tuple(
            Question(agent=AgentId(f"dev.{each}.1"), about=each, text="?", asked_at=ONE.started_at)
            for each in about
        ),
    )


@pytest.mark.parametrize(
    ("act", "shown", "selected", "name", "content"),
    [
        ("approve", PLAN, Selected(), "approve_plan", {}),
        ("reject", PLAN, Selected(task="task a"), "reject_plan", {"notes": "x"}),
        ("approve", ONE, Selected(), "approve_changeset", {"id": "a"}),
        ("approve", ONE, Selected(task="task b"), "approve_changeset", {"id": "a"}),
        ("approve", TWO, Selected(task="task c"), "approve_changeset", {"id": "c"}),
        ("reject", TWO, Selected("changeset c", "task a"), "reject_changeset", {"id": "c"}),
        ("answer", asked("a"), Selected(), "answer", {"id": "a", "text": "x"}),
        ("answer", asked("a", "c"), Selected("question c"), "answer", {"id": "c"}),
        ("answer", asked("a", "c"), Selected(task="task a"), "answer", {"id": "a"}),
        ("skip", ONE, Selected(task="task c"), "skip_task", {"id": "c", "satisfies": False}),
        ("retry", ONE, Selected("stuck b", "task a"), "retry_task", {"id": "b", "notes": "x"}),
        ("revert", ONE, Selected(task="task a"), "revert_task", {"id": "a", "reason": "x"}),
        ("steer", ONE, Selected(task="task a"), "steer_task", {"id": "a", "text": "x"}),
        ("pause", ONE, Selected(), "pause", {}),
        ("pause", PAUSED, Selected(), "resume", {}),
    ],
)
def test_a_key_decides_on_what_is_chosen_or_the_only_one_that_waits(
    act: Act, shown: Any, selected: Selected, name: str, content: dict[str, object]
) -> None:
    sent, told = prompt(act, shown, selected, "me").decide(" x ")
    assert sent == name
    assert {**content, "by": "me"}.items() <= told.model_dump().items()


@pytest.mark.parametrize(
    ("typed", "turn", "attempt", "notes"),
    [("3", 3, None, ""), (" 1:12  keep it short ", 12, 1, "keep it short")],
)
def test_a_rewind_names_a_turn_and_perhaps_an_attempt(
    typed: str, turn: int, attempt: int | None, notes: str
) -> None:
    sent, told = prompt("rewind", ONE, Selected(task="task a"), "me").decide(typed)
    found = told.model_dump()
    assert (sent, found["id"]) == ("rewind_task", "a")
    assert (found["turn"], found["attempt"], found["notes"]) == (turn, attempt, notes)


@pytest.mark.parametrize("typed", ["back", "0", "1:", "-1", "1.5", "9" * 7])
def test_what_names_no_turn_is_not_sent(typed: str) -> None:
    asked = prompt("rewind", ONE, Selected(task="task a"), "me")
    with pytest.raises(CommandError, match="is not a turn: write 3, or 1:3 for attempt 1"):
        asked.decide(typed)


@pytest.mark.parametrize(
    ("act", "shown", "selected", "said"),
    [
        ("approve", NO_PLAN, Selected(), "there is no plan to decide on"),
        ("approve", TWO, Selected(task="task b"), "no changeset is selected"),
        ("approve", session(), Selected(), "no changeset is selected"),
        (
            "approve",
            TWO.model_copy(update={"live": False}),
            Selected(task="task b"),
            "no changeset",
        ),
        ("answer", ONE, Selected(), "no agent is asking anything"),
        ("answer", asked("a", "c"), Selected(), "select a question first"),
        ("skip", session(), Selected(), "there is no task yet"),
    ],
)
def test_what_is_not_possible_is_said_and_nothing_is_asked(
    act: Act, shown: Any, selected: Selected, said: str
) -> None:
    with pytest.raises(CommandError, match=said):
        prompt(act, shown, selected, "me")


@pytest.mark.parametrize(
    ("shown", "keys", "hint"),
    [
        (PLAN, ["plan"], "a approve"),
        (ONE, ["question a", "changeset a"], "a approve"),
        (ONE, ["question a"], "w answer"),
        (PAUSED, ["resume"], "p resume"),
        (ONE, ["stuck b"], "t retry"),
        (ONE, [], ""),
    ],
)
def test_the_hint_names_the_keys_that_answer(shown: Any, keys: list[str], hint: str) -> None:
    assert offered(shown, keys).startswith(hint)
