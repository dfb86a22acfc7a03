"""A session as a story: what happened, who decided what, when and why, in order. Pure.

The text is foreign in part; who shows it makes it harmless.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel

from starter.reports import decision_waits
from starter.reports.report_facts import Facts
from starter.views.session_words import counts, names_more
from workers.telemetry.session_record import MergeSeen, PlanSeen
from workflows.domain.session.decision import Decision
from workflows.domain.session.notice import Notice
from workflows.domain.session.wave_values import (
    Developed,
    DevelopItem,
    HeldChangeset,
    MergedChangeset,
    NotDeveloped,
    Refused,
    ReturnedChangeset,
    UnjudgedChangeset,
    Validated,
    ValidateItem,
    Waits,
)
from workflows.policy.gates.green_rule import why_less
from workflows.policy.money.amounts_in_words import counted, money

_NOTE: Final = 500


def _cut(text: str) -> str:
    return text if len(text) <= _NOTE else f"{text[: _NOTE - 3]}..."


class Event(BaseModel, frozen=True, extra="forbid"):
    """One line of the story; one entry of `history --json`."""

    at: datetime
    kind: str
    """`session`, `plan`, `task`, `merge`, `question`, `decision` or `notice`."""
    subject: str = ""
    """A task's or changeset's id; empty: the session as a whole."""
    text: str
    by: str = ""
    """Who decided or judged: a person, a rule, a model; empty: the session itself."""
    why: Annotated[str, AfterValidator(_cut)] = ""
    """The reason given, at most 500 characters."""
    waited: timedelta | None = None
    """How long the session waited for this decision; None: it waited for none."""


def story(facts: Facts) -> list[Event]:
    """Return what happened, the oldest first."""
    view, record = facts.view, facts.record
    events = [
        Event(at=view.started_at, kind="session", text="started", why=(record.goal or view.goal)),
        *(_plan(each) for each in record.plans if each.by_planner),
        *(_item(each.at, each.item) for each in record.items),
        *(_merge(each) for each in record.merges),
        *(
            Event(
                at=each.at,
                kind="question",
                subject=each.asked.about,
                text="an agent asked",
                by=each.asked.agent,
                why=each.asked.text,
            )
            for each in record.questions
        ),
        *(_decision(facts, each) for each in view.decisions),
        *map(_notice, view.notices),
        *_ended(facts),
    ]
    return sorted(events, key=lambda each: each.at)


def _plan(seen: PlanSeen) -> Event:
    if seen.plan is None:
        return Event(at=seen.at, kind="plan", text="the planner made no plan", why=seen.reason)
    tasks = counted(len(seen.plan.tasks), "task")
    text = f"the planner submitted a plan of {tasks}"
    return Event(at=seen.at, kind="plan", text=text, by="planner", why=seen.plan.summary)


def _item(at: datetime, item: DevelopItem | ValidateItem) -> Event:
    text, by, why = _told(item)
    return Event(at=at, kind="task", subject=item.task, text=text, by=by, why=why)


def _told(item: DevelopItem | ValidateItem) -> tuple[str, str, str]:
    """Return what became of an attempt, who judged it, and why."""
    number = f"attempt {item.attempt}"
    match item:
        case Developed():
            return f"{number} was submitted", item.family, item.summary
        case NotDeveloped():
            end = str(item.end).replace("_", " ")
            return f"{number} ended without work to judge ({end})", "", item.detail
        case Waits():
            return f"{number} waits until its dependencies are merged", "", item.detail
        case Validated():
            gates = ", ".join(item.judgement.by) or f"no gate: {why_less(item.judgement)}"
            text = f"{number} was validated; judged by {gates}"
            return text, item.verdict.reviewer, item.verdict.summary or item.verdict.reason
        case Refused():
            return f"{number} was refused by the {item.by}", "", item.notes


def _merge(seen: MergeSeen) -> Event:
    item = seen.item
    match item:
        case MergedChangeset():
            text, why = f"merged as {item.head[:12]}", item.gate_remarks
        case ReturnedChangeset():
            text, why = f"came back to task {item.task} because of a {item.by}", item.notes
        case HeldChangeset():
            text, why = "could not be merged yet", item.reason
        case UnjudgedChangeset():
            text, why = "needs a person: no gate judged the merged tree", why_less(item.judgement)
    return Event(at=seen.at, kind="merge", subject=item.id, text=text, why=why)


def _decision(facts: Facts, decision: Decision) -> Event:
    what = decision.what.replace("_", " ")
    times = f" ({decision.count} times)" if decision.count > 1 else ""
    refused = f", which was refused: {decision.refused}" if decision.refused else ""
    return Event(
        at=decision.at,
        kind="decision",
        subject=decision.subject,
        text=f"{what}{times}{refused}",
        by=decision.by,
        why=decision.note,
        waited=decision_waits.waited(facts, decision),
    )


def _notice(notice: Notice) -> Event:
    times = f" ({notice.count} times)" if notice.count > 1 else ""
    kind = notice.kind.replace("_", " ")
    return Event(
        at=notice.first_at,
        kind="notice",
        subject=notice.subject if names_more(notice) else "",
        text=f"{kind}{times}",
        why=notice.text,
    )


def _ended(facts: Facts) -> Iterator[Event]:
    view = facts.view
    if view.outcome is not None and facts.ended_at is not None:
        text = f"ended {view.outcome}: {counts(view.tasks)}, {money(view.spent_usd)}"
        yield Event(at=facts.ended_at, kind="session", text=text, why=view.reason)
