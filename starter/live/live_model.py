"""What the full-screen view shows of a session: rows of text, from the data of `status`.

Pure: the session's view, what else is known, and the time in; rows out.
"""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final, NamedTuple

from starter.console.terminal import one_line, shown
from starter.live.rows import Row, aligned, told
from starter.sessions.running_agents import RunningAgent, Work
from starter.sessions.shown_session import ShownSession
from starter.views import decision_words, safety_labels, session_words, work_words
from workflows.domain.agent.agent_settings import AgentSettings, LimitSettings
from workflows.domain.agent.model_values import Role
from workflows.domain.plan import Plan, TaskKind
from workflows.domain.session.query_answers import ChangesetLine, TaskLine
from workflows.domain.session.session_modes import SessionPhase
from workflows.domain.task import TaskState
from workflows.policy.money.amounts_in_words import counted, money

PLAN: Final = "plan"
CHANGESET: Final = "changeset "
QUESTION: Final = "question "
TASK: Final = "task "
RESUME: Final = "resume"
STUCK: Final = "stuck "
"""Beginnings of the keys of rows that wait for a person; what follows names their subject."""

_ORDER: Final = (
    *(TaskState.FAILED, TaskState.TIMED_OUT, TaskState.REJECTED),
    *(TaskState.MERGING, TaskState.VALIDATING, TaskState.DEVELOPING),
    *(TaskState.VALIDATED, TaskState.DEVELOPED, TaskState.READY),
    *(TaskState.BLOCKED, TaskState.PENDING),
    *(TaskState.MERGED, TaskState.SKIPPED, TaskState.CANCELLED),
)
_PLACE: Final = {state: number for number, state in enumerate(_ORDER)}
_WAVES: Final = {
    "develop": TaskState.DEVELOPING,
    "validate": TaskState.VALIDATING,
    "merge": TaskState.MERGING,
}
_GAVE_UP: Final = {TaskState.FAILED, TaskState.TIMED_OUT}
_STUCK_SHOWN: Final = 3
_HEADINGS: Final = ("STATE", "TASK", "TRY", "AGE", "TURNS", "COST", "GATES", "TITLE")


class Known(NamedTuple):
    """What is known of a session besides its view; it may lag behind it by some seconds."""

    plan: Plan | None = None
    work: Work = Work()
    limits: AgentSettings | None = None


class LiveModel(NamedTuple):
    """The picture by part of the screen, without the graph: `task_graph` has that."""

    head: tuple[Row, ...]
    """Three to six rows: which session, its state and money, its waves, pull requests, labels."""
    asks: tuple[Row, ...]
    """What waits for a person."""
    headings: str
    """Of the columns of `tasks`."""
    tasks: tuple[Row, ...]
    """What needs attention first, then what is worked on, then what waits, then what is settled."""
    notices: tuple[Row, ...]
    decisions: tuple[Row, ...]
    pulls: tuple[Row, ...]
    """All pull requests with their addresses."""


def live_model(session: ShownSession, known: Known, now: datetime) -> LiveModel:
    """Return the picture of a session.

    Args:
        session: its latest view.
        known: what else is known.
        now: the time, with a zone; for ages.
    """
    headings, tasks = _task_rows(session, known, now)
    return LiveModel(
        head=_head(session, known, now),
        asks=tuple(_asks(session)),
        headings=headings,
        tasks=tasks,
        notices=_notices(session),
        decisions=told(reversed(decision_words.latest(session))),
        pulls=told(map(work_words.pull_line, session.pulls)),
    )


def age(past: timedelta) -> str:
    """Return a time span in at most six characters: `42s`, `3m12s`, `2h05m`, `3d04h`."""
    seconds = max(int(past.total_seconds()), 0)
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86_400
    if minutes == 0:
        return f"{seconds}s"
    if hours == 0:
        return f"{minutes}m{seconds % 60:02}s"
    return f"{hours}h{minutes % 60:02}m" if days == 0 else f"{days}d{hours % 24:02}h"


# --- the head -----------------------------------------------------------------------------------


def _head(session: ShownSession, known: Known, now: datetime) -> tuple[Row, ...]:
    old = age(now - session.started_at)
    first = f"{session.session}  {old}  spent {session_words.spent(session)}  {session.goal}"
    state = f"{session_words.counts(session.tasks)}; {session_words.state(session)}"
    found = Counter(task.state for task in session.tasks)
    waves = [f"{name} {found[each]}" for name, each in _WAVES.items()]
    agents = counted(len(known.work.agents), "agent")
    work = f"{session.pacing}, cycle {session.cycle}: {', '.join(waves)}; {agents} at work"
    rows = [Row("", one_line(first, 500), "bold"), Row("", one_line(state, 500)), Row("", work)]
    if session.pulls:
        newest = "; ".join(map(work_words.pull_state, reversed(session.pulls)))
        rows.append(Row("", f"pull requests: {newest}"))
    # Each on a row of its own, so that a narrow terminal cuts none.
    return (*rows, *(Row("", label, "bold") for label in safety_labels.of(session)))


# --- what waits for a person --------------------------------------------------------------------


def _asks(session: ShownSession) -> list[Row]:
    if not session.live:
        return []
    rows: list[Row] = []
    if session.phase is SessionPhase.AWAITING_PLAN:
        rows.append(_ask(PLAN, f"plan: {counted(len(session.tasks), 'task')}"))
    rows += [_ask(f"{CHANGESET}{c.id}", _changeset(c)) for c in session_words.waiting(session)]
    rows += [
        _ask(f"{QUESTION}{each.about}", f"question of {each.about}: {each.text}")
        for each in session.questions
    ]
    if session.phase is SessionPhase.PAUSED:
        rows.append(_ask(RESUME, f"paused: {session.reason}"))
    if session_words.is_stuck(session):
        gave_up = [task for task in session.tasks if task.state in _GAVE_UP][:_STUCK_SHOWN]
        rows += [_ask(f"{STUCK}{t.id}", f"{t.id} {t.state}: {t.reason}") for t in gave_up]
    return rows


def _ask(key: str, text: str) -> Row:
    return Row(key, one_line(text, 500), "bold yellow")


def _changeset(changeset: ChangesetLine) -> str:
    said = (work_words.judged(changeset), work_words.unreviewed(changeset))
    about = "; ".join(text for text in said if text)
    tasks = ", ".join(changeset.tasks)
    return f"changeset {changeset.id} {(changeset.digest or '')[:12]} ({tasks}) {about}"


# --- tasks --------------------------------------------------------------------------------------


def _task_rows(session: ShownSession, known: Known, now: datetime) -> tuple[str, tuple[Row, ...]]:
    homes = {task: each for each in session.changesets for task in each.tasks}
    kinds = {task.id: task.kind for task in known.plan.tasks} if known.plan else {}
    agents = _by_task(known.work.agents)
    ordered = sorted(session.tasks, key=lambda task: _PLACE[task.state])
    cells = [
        (
            str(task.state),
            shown(task.id),
            str(task.attempt or ""),
            *_work(task, agents.get(task.id, []), known, kinds.get(task.id, TaskKind.CODE), now),
            _gates(homes.get(task.id)),
            one_line(f"{task.title}: {task.reason}" if task.reason else task.title, 200),
        )
        for task in ordered
    ]
    heading, *lines = aligned([_HEADINGS, *cells])
    return heading, tuple(
        Row(f"{TASK}{task.id}", line, session_words.style(f"  {task.state}"))
        for task, line in zip(ordered, lines, strict=True)
    )


def _by_task(agents: Sequence[RunningAgent]) -> dict[str, list[RunningAgent]]:
    found: dict[str, list[RunningAgent]] = {}
    for agent in agents:
        found.setdefault(agent.task, []).append(agent)
    return found


def _work(
    task: TaskLine, agents: Sequence[RunningAgent], known: Known, kind: TaskKind, now: datetime
) -> tuple[str, str, str]:
    """Return age and turns of the task's agent now, and the task's cost against its limit."""
    spent = known.work.costs.get(task.id, Decimal(0)) + sum((a.usd for a in agents), Decimal(0))
    cost = money(spent) if spent or agents else ""
    if not agents:
        return "", "", cost
    first = agents[0]
    role = Role.REVIEWER if first.is_reviewer else Role.DEVELOPER
    limits = known.limits.of(role).of(kind) if known.limits else LimitSettings()
    turns = f"{first.turn}/{limits.turns}" if limits.turns else str(first.turn)
    most = f"/{money(limits.usd)}" if limits.usd is not None else ""
    return age(now - first.since), turns, f"{cost}{most}"


def _gates(home: ChangesetLine | None) -> str:
    if home is None:
        return ""
    if home.judged_by:
        return one_line(",".join(home.judged_by), 20)
    return work_words.NOT_JUDGED if work_words.is_unjudged(home) else ""


def _notices(session: ShownSession) -> tuple[Row, ...]:
    waits = map(session_words.wait_line, session.waits)
    return told([*waits, *map(session_words.notice_line, reversed(session.notices))])
