"""How long decisions waited, by kind of decision."""

from datetime import timedelta
from typing import Any

import pytest

from starter.reports.decision_waits import waited, waits
from starter.reports.report_facts import Facts
from tests.unit.starter import shown
from tests.unit.starter.reports.sessions import asked, at, session
from workflows.domain.ids import AgentId
from workflows.domain.session.decision import Decision
from workflows.domain.session.notice import Notice, NoticeKind
from workflows.domain.session.question import Question
from workflows.domain.session.session_modes import SessionPhase


def decision(what: str, subject: str, seconds: float, **more: Any) -> Decision:
    common = {"by": "ann", "source": "signal", "at": at(seconds)}
    return Decision.model_validate({"what": what, "subject": subject, **common, **more})


def with_view(facts: Facts, **changes: Any) -> Facts:
    view = facts.view.model_validate({**dict(facts.view), **changes})
    return Facts(view, facts.trace, facts.record, facts.at)


CAP = Notice(
    kind=NoticeKind.CAP_REACHED, subject="", text="at the cap", first_at=at(40), last_at=at(40)
)


@pytest.mark.parametrize(
    ("made", "seconds"),
    [
        # The plan was submitted after 8 s; t1 was validated after 28 s, t2 after 38 s.
        (decision("approve_plan", "", 12), 4),
        (decision("reject_plan", "", 9), 1),
        (decision("approve_changeset", "t1", 30), 2),
        (decision("reject_changeset", "t2", 50), 12),
        (decision("approve_changeset", "unknown", 50), None),
        (decision("approve_changeset", "t1", 20), None),
        (decision("answer", "t1", 26), 4),
        (decision("answer", "t2", 26), None),
        (decision("set_budget", "", 47), 7),
        (decision("resume", "", 39), None),
        (decision("steer_task", "t1", 30), None),
        (decision("approve_plan", "", 0, source="start"), None),
        (decision("approve_plan", "", 12, refused="there is none"), None),
        (decision("approve_changeset", "t1", 29, source="rule"), 1),
    ],
    ids=lambda each: each.what if isinstance(each, Decision) else "",
)
def test_a_wait_lasts_from_the_need_to_the_decision(made: Decision, seconds: int | None) -> None:
    facts = asked(with_view(session(2), notices=(CAP,)), "t1", 22, "which one?")
    expected = None if seconds is None else timedelta(seconds=seconds)
    assert waited(facts, made) == expected


def test_only_the_first_decision_ends_a_pause() -> None:
    first, second = decision("set_budget", "", 45), decision("resume", "", 50)
    facts = with_view(session(1), notices=(CAP,), decisions=(first, second))
    assert [waited(facts, each) for each in (first, second)] == [timedelta(seconds=5), None]
    assert [each.what for each in waits(facts)] == ["a resume"]


def test_what_still_waits_is_open() -> None:
    question = Question(agent=AgentId("dev.t1.1"), about="t1", text="which one?", asked_at=at(20))
    facts = with_view(
        session(1),
        outcome=None,
        phase=SessionPhase.RUNNING,
        decisions=(),
        changesets=(shown.changeset("t1", "awaiting_approval"),),
        questions=(question,),
    )
    assert [(each.what, each.since, each.until) for each in waits(facts)] == [
        ("changeset t1", at(28), None),
        ("the question about t1", at(20), None),
    ]
    planning = with_view(facts, phase=SessionPhase.AWAITING_PLAN, changesets=(), questions=())
    assert [(each.what, each.since) for each in waits(planning)] == [("the plan", at(8))]
