"""Decisions in words: who, what, when; nothing of a sender's text is obeyed by a terminal."""

from datetime import UTC, datetime
from typing import Any

from starter.views import decision_words, session_words, work_words
from tests.unit.starter.shown import HOSTILE, changeset, session
from workflows.domain.ids import TaskId
from workflows.domain.session.decision import UNNAMED, Decision

AT = datetime(2026, 11, 27, 9, 30, tzinfo=UTC)


def made(what: str, subject: str = "", **more: Any) -> Decision:
    values: dict[str, Any] = {"by": "ann@desk", "source": "signal", "at": AT, **more}
    return Decision(what=what, subject=subject, **values)


def test_one_line_says_all_of_it() -> None:
    assert decision_words.line(made("approve_plan")) == (
        "  2026-11-27 09:30  approve plan by ann@desk"
    )
    refused = made("reject_plan", note="smaller", refused="no plan waits", count=2, by=UNNAMED)
    assert decision_words.line(refused) == (
        "  2026-11-27 09:30  reject plan by (unnamed) (2 times): smaller -- refused: no plan waits"
    )


def test_a_senders_words_are_shown_literally() -> None:
    hostile = made("steer_task", "a\x1b[2J", by=HOSTILE, note=HOSTILE, refused=HOSTILE)
    assert "\x1b" not in decision_words.line(hostile)


def test_the_status_shows_the_newest_ten_and_counts_the_rest() -> None:
    many = tuple(made("set_priority", note=f"priority {number}") for number in range(12))
    lines = session_words.status(session(decisions=many, decisions_dropped=3), "blueflame")
    place = lines.index("Decisions")
    assert lines[place + 1] == "  5 earlier; --json has the newest 100"
    assert lines[place + 2].endswith("priority 2")
    assert lines[place + 11].endswith("priority 11")
    assert "Decisions" not in session_words.status(session(), "blueflame")


def test_a_task_shows_what_was_decided_on_it_its_changeset_and_its_plan() -> None:
    group = changeset("g", "merged").model_copy(update={"tasks": (TaskId("a"), TaskId("b"))})
    decided = (
        made("approve_plan"),
        made("approve_plan", refused="approved already"),
        made("skip_task", "b"),
        made("approve_changeset", "g"),
        made("approve_changeset", "h"),
        made("pause"),
    )
    shown = session(decisions=decided, changesets=(group,))
    found = decision_words.about(shown, TaskId("a"))
    assert found == [decided[0], decided[3]]
    assert decision_words.section(found)[:2] == ["", "Decisions"]
    assert decision_words.section([]) == []


def test_an_approved_changeset_names_who_approved_it() -> None:
    approved = changeset("a", "merged", None).model_copy(update={"approved_by": "ann@desk"})
    assert work_words.changeset_line(approved).endswith("(a), approved by ann@desk")
