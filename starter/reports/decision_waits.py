"""How long decisions waited: when a session began to need each, and when it was made. Pure.

| decision                              | the wait began when                             |
|---------------------------------------|-------------------------------------------------|
| on the plan                           | the planner submitted it                        |
| on a changeset                        | the last of its tasks was validated             |
| `answer`                              | the agent asked                                 |
| `resume`, `set_budget` after a pause  | a person paused, or the cap was reached         |

Other decisions answer nothing, so they did not wait.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from starter.reports.report_facts import Facts
from workflows.domain.changeset import ChangesetState
from workflows.domain.session.decision import Decision
from workflows.domain.session.notice import NoticeKind
from workflows.domain.session.query_answers import ChangesetLine
from workflows.domain.session.session_modes import SessionPhase
from workflows.domain.session.wave_values import Validated

_ON_PLAN: Final = {"approve_plan", "reject_plan", "replace_plan", "edit_plan"}
_ON_CHANGESET: Final = {"approve_changeset", "reject_changeset"}
_ON_PAUSE: Final = {"resume", "set_budget"}


class Wait(NamedTuple):
    """One time in which the session waited for a decision."""

    what: str
    """What it needed: `the plan`, `changeset parser`, `plan.1's question`, `a resume`."""
    since: datetime
    until: datetime | None
    """None: it still waits."""


def waited(facts: Facts, decision: Decision) -> timedelta | None:
    """Return how long a decision was awaited; None if nothing waited for it."""
    since = _asked_at(facts, decision)
    return None if since is None else decision.at - since


def waits(facts: Facts) -> list[Wait]:
    """Return all waits for persons and rules, those that are open at the end."""
    done: dict[tuple[str, datetime], Wait] = {}
    for each in facts.view.decisions:
        since = _asked_at(facts, each)
        if since is not None:
            what = _subject(each)
            done.setdefault((what, since), Wait(what, since, each.at))
    return sorted(done.values(), key=lambda each: each.since) + list(_open(facts))


def _asked_at(facts: Facts, decision: Decision) -> datetime | None:
    if decision.refused or decision.source == "start":
        return None
    if decision.what in _ON_PLAN:
        return _last(_planned(facts), decision.at)
    if decision.what in _ON_CHANGESET:
        found = (each for each in facts.view.changesets if each.id == decision.subject)
        return next((_validated(facts, each, decision.at) for each in found), None)
    if decision.what == "answer":
        asked = (e.at for e in facts.record.questions if e.asked.about == decision.subject)
        return _last(asked, decision.at)
    if decision.what in _ON_PAUSE:
        return _paused(facts, decision)
    return None


def _subject(decision: Decision) -> str:
    if decision.what in _ON_PLAN:
        return "the plan"
    if decision.what in _ON_CHANGESET:
        return f"changeset {decision.subject}"
    return f"the question about {decision.subject}" if decision.what == "answer" else "a resume"


def _planned(facts: Facts) -> Iterable[datetime]:
    return (e.at for e in facts.record.plans if e.by_planner and e.plan is not None)


def _validated(facts: Facts, changeset: ChangesetLine, until: datetime) -> datetime | None:
    times = [
        each.at
        for each in facts.record.items
        if isinstance(each.item, Validated) and each.item.task in changeset.tasks
    ]
    return _last(times, until)


def _paused(facts: Facts, decision: Decision) -> datetime | None:
    """Return when the pause began that a decision ended, unless another had ended it before."""
    pauses = [e.at for e in facts.view.decisions if e.what == "pause" and not e.refused]
    caps = [e.first_at for e in facts.view.notices if e.kind is NoticeKind.CAP_REACHED]
    since = _last([*pauses, *caps], decision.at)
    ends = [e.at for e in facts.view.decisions if e.what in _ON_PAUSE and not e.refused]
    is_over = since is not None and any(since < each < decision.at for each in ends)
    return None if is_over else since


def _last(times: Iterable[datetime], until: datetime) -> datetime | None:
    return max((each for each in times if each <= until), default=None)


def _open(facts: Facts) -> Iterable[Wait]:
    if facts.view.outcome is not None:
        return
    if facts.view.phase is SessionPhase.AWAITING_PLAN:
        since = _last(_planned(facts), facts.at) or facts.view.started_at
        yield Wait("the plan", since, None)
    for each in facts.view.changesets:
        since = _validated(facts, each, facts.at)
        if each.state == ChangesetState.AWAITING_APPROVAL and since is not None:
            yield Wait(f"changeset {each.id}", since, None)
    for each in facts.view.questions:
        yield Wait(f"the question about {each.about}", each.asked_at, None)
