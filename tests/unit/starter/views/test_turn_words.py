"""`starter.views.turn_words`: turns in words, and no escape code that acts."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from starter.sessions.turn_history import Happening, ToolAnswer
from starter.views import turn_words
from tests.unit.starter.shown import HOSTILE
from workflows.domain.agent.messages import ToolCall


def happening(kind: str, **facts: Any) -> Happening:
    common = {"at": datetime(2026, 11, 28, tzinfo=UTC), "session": "s", "agent": "dev.a.1"}
    return Happening.model_validate({**common, "kind": kind, "turn": 3, **facts})


def test_an_answer_is_shown_with_its_cost_its_time_and_its_calls() -> None:
    said = happening(
        "said",
        model="anthropic/m",
        text="I look.\nThen I fix.",
        calls=(
            ToolCall(id="1", name="bash", arguments={"command": "pytest -q\necho done"}),
            ToolCall(id="2", name="odd", arguments={"n": 1}),
        ),
        cost_usd=Decimal("0.0123"),
        took=timedelta(seconds=2.14),
        scripted=True,
    )
    first, *rest = turn_words.happening(said)
    assert "dev.a.1  turn 3  said  anthropic/m  $0.01  2.1 s  SCRIPTED" in first
    assert rest == [
        "    I look.",
        "    Then I fix.",
        "  > bash: pytest -q echo done",
        '  > odd: {"n": 1}',
    ]


def test_an_estimated_cost_is_marked() -> None:
    (first,) = turn_words.happening(happening("said", cost_usd=Decimal("0.01"), is_estimated=True))
    assert "$0.01 (estimated)" in first


def test_results_are_short_and_failures_are_named() -> None:
    ran = happening(
        "ran",
        results=(
            ToolAnswer(name="bash", text="x " * 500, is_error=False),
            ToolAnswer(name="edit", text="no such file", is_error=True),
            ToolAnswer(name="bash", text="", is_error=False),
        ),
    )
    _, first, *rest = turn_words.happening(ran)
    assert len(first) < 200
    assert rest == ["  < edit failed: no such file", "  < bash: (no output)"]


def test_long_texts_are_cut_and_say_so() -> None:
    lines = turn_words.happening(happening("said", text="line\n" * 30))
    assert lines[-1] == "    ... 10 more lines; --json has them"


def test_texts_of_agents_cannot_control_the_terminal() -> None:
    call = ToolCall(id="1", name=HOSTILE, arguments={"command": HOSTILE})
    answer = ToolAnswer(name=HOSTILE, text=HOSTILE, is_error=False)
    every = happening(
        "said", model=HOSTILE, agent=HOSTILE, text=HOSTILE, calls=(call,), results=(answer,)
    )
    text = "\n".join(turn_words.happening(every))
    assert "\\x1b[2J" in text
    assert not any(each in text for each in ("\u001b", "\u202e"))
