"""The report as one HTML page that needs nothing else: no script, no request, no file beside it.

All values are foreign. The template escapes each one, and a character that could act unseen is
written out. The page's own policy forbids a browser to load or run anything; only the one style
sheet in it counts, by its hash.
"""

import hashlib
import re
from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from starter.reports import cost_tables, decision_waits, graph_layout, timeline
from starter.reports.report_facts import Facts, TaskDiff
from starter.reports.story import Event, story
from starter.sessions.turn_history import task_of
from starter.views import session_words, work_words
from workers.telemetry.session_record import AgentSeen
from workflows.domain.agent.model_values import Role
from workflows.domain.ids import TaskId
from workflows.domain.plan import Task
from workflows.domain.session.query_answers import ChangesetLine, TaskLine
from workflows.domain.verdict import Evidence, EvidencePlace
from workflows.policy.money.amounts_in_words import money
from workflows.policy.review.verdict_rules import read_submission
from workflows.policy.text.visible_text import ON_A_TERMINAL, escaped

_HERE: Final = Path(__file__).parent
_NAME: Final = re.compile(r"[^A-Za-z0-9_.-]")


@dataclass(frozen=True)
class Citation:
    """One piece of a reviewer's evidence."""

    evidence: Evidence
    place: EvidencePlace | None
    """Where its text was found; None: it was not looked up."""


@dataclass(frozen=True)
class Review:
    """What one reviewer said."""

    reviewer: str
    model: str
    decision: str
    summary: str
    citations: list[Citation]
    findings: list[str]


@dataclass(frozen=True)
class TaskPart:
    """All that the page says of one task."""

    line: TaskLine
    task: Task | None
    """None: its plan could not be read."""
    spent_usd: Decimal
    events: list[Event]
    reviews: list[Review]


@dataclass(frozen=True)
class ChangesetPart:
    """All that the page says of one changeset."""

    line: ChangesetLine
    diffs: list[tuple[TaskId, TaskDiff]]


def render(facts: Facts, program: str) -> str:
    """Return the page of a session.

    Args:
        facts: of the session.
        program: the program as the person types it, for the commands on the page.
    """
    css = (_HERE / "report.css").read_text(encoding="utf-8")
    planned = facts.planned
    events = story(facts)
    tables = (cost_tables.by_task(facts), cost_tables.by_role(facts), cost_tables.by_model(facts))
    return _template().render(
        css=css,
        css_hash=b64encode(hashlib.sha256(css.encode()).digest()).decode(),
        program=program,
        facts=facts,
        view=facts.view,
        state=session_words.state(facts.view),
        counts=session_words.counts(facts.view.tasks),
        asks=session_words.asks(facts.view, program),
        took=facts.until - facts.view.started_at,
        timeline=timeline.timeline(facts),
        graph=graph_layout.graph({name: task.depends_on for name, task in planned.items()}),
        states={each.id: str(each.state) for each in facts.view.tasks},
        tables=tables,
        tasks=_tasks(facts, planned, events, tables[0]),
        changesets=[_changeset(facts, each) for each in facts.view.changesets],
        waits=decision_waits.waits(facts),
        decisions=[(each, decision_waits.waited(facts, each)) for each in facts.view.decisions],
        events=events,
        **_IN_TEMPLATE,
    )


@cache
def _template() -> Template:
    environment = Environment(
        loader=FileSystemLoader(_HERE),
        autoescape=True,
        finalize=_harmless,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html.jinja")


def _harmless(value: object) -> object:
    """Write out what acts unseen in a text; markup of this package stays."""
    if not isinstance(value, str) or hasattr(value, "__html__"):
        return value
    return escaped(value, ON_A_TERMINAL)


def _diff_lines(text: str) -> Iterable[tuple[str, str]]:
    """Return the lines of a diff, each with its kind: `add`, `del`, `at`, `file` or none."""
    in_hunk = False
    for line in text.removesuffix("\n").split("\n"):
        if line.startswith("diff "):
            in_hunk = False
        elif line.startswith("@@"):
            in_hunk = True
            yield "at", line
            continue
        kind = {"+": "add", "-": "del"}.get(line[:1], "") if in_hunk else "file"
        yield kind, line


def _anchor(text: str) -> str:
    return _NAME.sub("-", text)


def _utc(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S}"


def _words(name: str) -> str:
    return name.replace("_", " ")


_IN_TEMPLATE: Final[dict[str, object]] = {
    "anchor": _anchor,
    "utc": _utc,
    "words": _words,
    "usd": money,
    "clock": timeline.clock,
    "judged": work_words.judged,
    "unreviewed": work_words.unreviewed,
    "names_more": session_words.names_more,
    "diff_lines": _diff_lines,
    "WIDTH": timeline.WIDTH,
    "ROW": timeline.ROW,
    "BOX_WIDTH": graph_layout.BOX_WIDTH,
    "BOX_HEIGHT": graph_layout.BOX_HEIGHT,
}
"""What the template uses besides the facts."""


def _tasks(
    facts: Facts, planned: dict[TaskId, Task], events: list[Event], costs: cost_tables.CostTable
) -> list[TaskPart]:
    spent = {each.name: each.spent_usd for each in costs.lines}
    about: dict[str, list[Event]] = {}
    for each in events:
        about.setdefault(each.subject, []).append(each)
    reviews = _reviews(facts)
    return [
        TaskPart(
            line=each,
            task=planned.get(each.id),
            spent_usd=spent.get(each.id, Decimal(0)),
            events=about.get(each.id, []),
            reviews=reviews.get(each.id, []),
        )
        for each in facts.view.tasks
    ]


def _changeset(facts: Facts, line: ChangesetLine) -> ChangesetPart:
    diffs = [(each, facts.diffs[each]) for each in line.tasks if each in facts.diffs]
    return ChangesetPart(line, diffs)


def _reviews(facts: Facts) -> dict[str, list[Review]]:
    places = {each.evidence: each.places for each in facts.record.evidence}
    found: dict[str, list[Review]] = {}
    for name, agent in facts.record.agents.items():
        if agent.role is Role.REVIEWER and agent.outcome is not None:
            found.setdefault(task_of(name), []).append(_review(agent, places))
    return found


def _review(
    agent: AgentSeen, places: dict[tuple[Evidence, ...], tuple[EvidencePlace, ...]]
) -> Review:
    assert agent.outcome is not None
    said = read_submission(agent.outcome.submission)
    if isinstance(said, str):
        why = agent.outcome.detail or said
        return Review(agent.name, agent.outcome.model, "no verdict", why, [], [])
    looked_up = places.get(said.evidence, ())
    return Review(
        reviewer=agent.name,
        model=agent.outcome.model,
        decision="approves" if said.approve else "rejects",
        summary=said.summary,
        citations=[
            Citation(each, looked_up[n] if n < len(looked_up) else None)
            for n, each in enumerate(said.evidence)
        ],
        findings=[
            f"{each.path or ''}{f':{each.line}' if each.line else ''} {each.text}".strip()
            for each in said.findings
        ],
    )
