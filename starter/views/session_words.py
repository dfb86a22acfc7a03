"""Everything that a person reads, in one place: wording and layout, as plain lines of text.

Pure: values in, lines out; the terminal wraps them. The fixed text is ASCII, so that every locale
can show it; foreign text passes `shown` or `one_line`. The caller adds colours, by line.
"""

import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from starter.console.terminal import one_line, shown
from starter.sessions.open_questions import Ask, PlanAsk
from starter.sessions.shown_session import ProviderWait, ShownSession
from starter.views import decision_words, question_words, safety_labels, work_words
from starter.views.safety_labels import NO_SANDBOX, SCRIPTED, is_scripted
from workflows.domain.changeset import ChangesetState
from workflows.domain.session.notice import Notice, NoticeKind
from workflows.domain.session.query_answers import ChangesetLine, TaskLine
from workflows.domain.session.session_modes import SessionPhase
from workflows.domain.task import TaskState
from workflows.policy.money.amounts_in_words import money

if TYPE_CHECKING:
    from workflows.domain.session.session_config import SessionConfig
    from workflows.domain.session.session_start import SessionRequest

_ORDER: Final = (
    "merged",
    "merging",
    "validated",
    "validating",
    "developed",
    "developing",
    "ready",
    "pending",
    "rejected",
    "failed",
    "timed_out",
    "blocked",
    "skipped",
    "cancelled",
)
_PHASES: Final = {
    SessionPhase.PREPARING: "preparing: reading the repository, running the gates on the base",
    SessionPhase.PLANNING: "planning",
    SessionPhase.AWAITING_PLAN: "the plan waits for your approval",
    SessionPhase.RUNNING: "running",
    SessionPhase.PAUSED: "paused",
    SessionPhase.STOPPING: "stopping",
    SessionPhase.ENDED: "ended",
}

_GAVE_UP: Final = {TaskState.FAILED, TaskState.TIMED_OUT}
_NAMED: Final = 3
_JUDGED: Final = 10
_WAYS_OUT: Final = ("retry", "skip")
_TITLES: Final = (
    "An agent asks you",
    "Tasks",
    "Changesets",
    "Waiting for a provider",
    "Notices",
    "Decisions",
    "Waiting for you",
)
PARTLY: Final = " (partly estimated: a provider counted no tokens)"
NO_GATES: Final = "(none found: only reviewers judge)"
OTHER_PLAN: Final = "That plan no longer waits, so nothing was sent; look at what waits now."


# --- a session -----------------------------------------------------------------------------------


def status(session: ShownSession, program: str) -> list[str]:
    """Return a session's whole view."""
    return [
        *header(session),
        *_section("An agent asks you", question_words.lines(session, program)),
        *_section("Tasks", [counts(session.tasks), *work_words.task_lines(session.tasks)]),
        *_section("Changesets", work_words.changeset_lines(session.changesets)),
        *_section("Pull requests", (f"  {work_words.pull_line(each)}" for each in session.pulls)),
        *_section("Waiting for a provider", map(wait_line, session.waits)),
        *_section("Notices", map(notice_line, session.notices)),
        *_section("Decisions", decision_words.latest(session)),
        *_section("Waiting for you", asks(session, program)),
    ]


def header(session: ShownSession) -> list[str]:
    """Return a session's facts and state, one fact per line."""
    facts = {
        "Session": session.session,
        "State": state(session),
        "Goal": one_line(session.goal, 200),
        "Repository": shown(session.repository),
        "Branch": shown(session.branch or "(nothing delivered yet)"),
        "Spent": spent(session),
        "Pacing": f"{session.pacing}, cycle {session.cycle}" if session.cycle else session.pacing,
        "Sandbox": sandbox(session.sandbox),
    }
    if session.scripted:
        facts["Models"] = SCRIPTED
    return [f"{name:<11}{text}" for name, text in facts.items()]


def spent(session: ShownSession) -> str:
    """Return what a session has spent, and its cap if that is known."""
    cap = f" of {money(session.cap_usd)}" if session.live or session.cap_usd else ""
    return f"{money(session.spent_usd)}{cap}{PARTLY if session.is_estimated else ''}"


def state(session: ShownSession) -> str:
    """Return a session's state in words."""
    words = session.outcome or _PHASES[session.phase]
    is_unanswered = not session.live and session.outcome is None
    if is_unanswered:
        words = "open"
    is_asking = session.phase is SessionPhase.AWAITING_PLAN and bool(session.tasks)
    is_said = is_asking and not is_unanswered
    return f"{words} ({shown(session.reason)})" if session.reason and not is_said else words


def word(session: ShownSession) -> str:
    """Return a session's state in one word, for lists and programs."""
    if session.outcome is not None or not session.live:
        return session.outcome or "open"
    is_asking = session.phase is SessionPhase.AWAITING_PLAN or bool(waiting(session))
    is_waiting = is_asking or is_stuck(session) or bool(session.questions)
    return "waiting" if is_waiting else session.phase


def sandbox(name: str) -> str:
    """Return what confines commands, conspicuously if nothing does."""
    if name == "none":
        return NO_SANDBOX
    return shown(name) or "(not known yet)"


def counts(tasks: Sequence[TaskLine]) -> str:
    """Return how many tasks have which state, as in `2 merged, 1 developing`."""
    found = Counter(str(task.state) for task in tasks)
    return ", ".join(f"{found[name]} {name}" for name in _ORDER if found[name]) or "(no plan yet)"


def notice_line(notice: Notice) -> str:
    """Return one notice on one line."""
    about = f" {shown(notice.subject)}" if names_more(notice) else ""
    times = f" ({notice.count} times)" if notice.count > 1 else ""
    return f"  {notice.kind.replace('_', ' ')}{about}: {one_line(notice.text, 300)}{times}"


def names_more(notice: Notice) -> bool:
    """Tell whether a notice's subject adds to the beginning of its text."""
    return bool(notice.subject) and not notice.text.startswith(notice.subject)


def wait_line(wait: ProviderWait) -> str:
    """Return one call that is repeated later, on one line."""
    until = f"{wait.until:%Y-%m-%d %H:%M:%S} UTC"
    what = f"waits for {shown(wait.model)} until" if wait.model else "calls its model again at"
    return f"  {shown(wait.agent)} {what} {until}: {one_line(wait.reason, 200)}"


def waiting(session: ShownSession) -> list[ChangesetLine]:
    """Return the changesets that wait for a person."""
    return [c for c in session.changesets if c.state == ChangesetState.AWAITING_APPROVAL]


def asks(session: ShownSession, program: str) -> list[str]:
    """Return the commands that answer what the session waits for."""
    at = f"--session {session.session}"
    lines = question_words.lines(session, program)
    if session.phase is SessionPhase.AWAITING_PLAN:
        lines.append(f"  {program} approve plan {at}")
        lines.append(f'  {program} reject plan --notes "..." {at}')
    for changeset in waiting(session):
        if work_words.is_unjudged(changeset):
            lines.append(f"  {changeset.id}: {work_words.judged(changeset)}")
        if why := work_words.unreviewed(changeset):
            lines.append(f"  {changeset.id}: {why}")
            lines.append(f"  {program} retry --review {work_words.unreviewed_task(changeset)} {at}")
        lines.append(f"  {program} diff {changeset.id} {at}")
        lines.append(f"  {program} approve {changeset.id} --digest {changeset.digest} {at}")
        lines.append(f'  {program} reject {changeset.id} --notes "..." {at}')
    if session.phase is SessionPhase.PAUSED and session.live:
        if is_at_cap(session):
            lines.append(f"  {program} budget USD {at}")
        lines.append(f"  {program} resume {session.session}")
    if is_stuck(session):
        failed = [task for task in session.tasks if task.state in _GAVE_UP][:_NAMED]
        lines += [f"  {program} {how} {each.id} {at}" for each in failed for how in _WAYS_OUT]
        lines.append(f"  {program} stop {session.session}")
    return lines


def is_at_cap(session: ShownSession) -> bool:
    """Tell whether the session pauses because its money is used up."""
    return any(
        n.kind == NoticeKind.CAP_REACHED and n.text == session.reason for n in session.notices
    )


def is_stuck(session: ShownSession) -> bool:
    """Tell whether nothing can continue by itself, because tasks failed and a person must act."""
    # Without a wave, a running session names the reason; with a wave it has none.
    is_idle = session.live and session.phase is SessionPhase.RUNNING and bool(session.reason)
    return (
        is_idle
        and not waiting(session)
        and any(t.state in _GAVE_UP or t.state == TaskState.BLOCKED for t in session.tasks)
    )


def _section(title: str, lines: Iterable[str]) -> list[str]:
    content = list(lines)
    return ["", title, *content] if content else []


# --- changes, for watching without a terminal ----------------------------------------------------


def changes(before: ShownSession | None, now: ShownSession) -> list[str]:
    """Return what is new since the last look, one line each; everything at the first look."""
    if before is None:
        tasks = f"{'Tasks':<11}{counts(now.tasks)}"
        return [*header(now), tasks, *work_words.pull_lines(now.pulls), *map(wait_line, now.waits)]
    lines: list[str] = []
    if state(before) != state(now):
        lines.append(f"session: {state(now)}")
    lines += [line for line in safety_labels.of(now) if line not in safety_labels.of(before)]
    lines += _moved(
        {t.id: work_words.task_line(t) for t in before.tasks},
        {t.id: work_words.task_line(t) for t in now.tasks},
    )
    lines += _moved(
        {c.id: work_words.changeset_line(c) for c in before.changesets},
        {c.id: work_words.changeset_line(c) for c in now.changesets},
    )
    known_pulls = work_words.pull_lines(before.pulls)
    lines += [line for line in work_words.pull_lines(now.pulls) if line not in known_pulls]
    known = {(w.agent, w.until) for w in before.waits}
    lines += [wait_line(w) for w in now.waits if (w.agent, w.until) not in known]
    seen = {(n.kind, n.subject, n.text) for n in before.notices}
    lines += [notice_line(n) for n in now.notices if (n.kind, n.subject, n.text) not in seen]
    return lines


def _moved(before: "dict[str, str]", now: "dict[str, str]") -> list[str]:
    return [line for name, line in now.items() if before.get(name) != line]


# --- approval -------------------------------------------------------------------------------------


def no_terminal(session: ShownSession, program: str) -> list[str]:
    """Return the message of a session without a terminal that waits for a person."""
    return [
        "the session waits for you, and there is no terminal to ask you on; answer with",
        *asks(session, program),
        f"and follow it with\n  {program} watch {session.session}",
    ]


def ending(session: ShownSession, program: str) -> list[str]:
    """Return a session's last lines: how it ended, the branch, the cost, where to look."""
    lines = [
        "",
        f"Session {session.session}: {state(session)}",
        f"Tasks      {counts(session.tasks)}",
        f"Spent      {money(session.spent_usd)}{PARTLY if session.is_estimated else ''}",
    ]
    lines += safety_labels.of(session)
    lines += judged_lines(session)
    if session.branch:
        lines.append(f"Branch     {shown(session.branch)} in {shown(session.repository)}")
        lines.append(f"           git log -p HEAD..{shown(session.branch)}")
    for number, pull in enumerate(session.pulls[-_JUDGED:]):
        lines.append(f"{'' if number else 'Proposed':<11}{work_words.pull_line(pull)}")
    if session.branch and session.outcome == "complete":
        at = f"--repo {shlex.quote(shown(session.repository))}"
        lines.append(f"           {program} fast-forward {session.session} {at}")
    return [*lines, f"Details    {program} status {session.session}"]


def judged_lines(session: ShownSession) -> list[str]:
    """Return what judged the merged and waiting changesets, one line for each with a judgement."""
    told = [(each.id, work_words.judged(each)) for each in session.changesets]
    lines = [f"{shown(name)} {text}" for name, text in told if text]
    shown_lines = lines[:_JUDGED]
    if len(lines) > _JUDGED:
        shown_lines.append(f"and {len(lines) - _JUDGED} more changesets: see `status`")
    return [f"{'Gates' if n == 0 else '':<11}{text}" for n, text in enumerate(shown_lines)]


# --- starting ------------------------------------------------------------------------------------


def started(session: str, program: str, ui: str | None) -> list[str]:
    """Return the message after a session's start."""
    look = [f"Web UI     {web_page(ui, session)}"] if ui else []
    return [f"Session    {session}", *look, f"Follow     {program} watch {session}"]


def web_page(ui: str, session: str) -> str:
    """Return the address of a session's page in the Web UI."""
    return f"{ui}/namespaces/default/workflows/session%2F{session}"


def dry_run(
    request: "SessionRequest", base: str, origins: dict[str, str], gates: Sequence[str]
) -> list[str]:
    """Return what a session would do, without starting it; `base` is in words."""
    config = request.config
    caps = config.budget
    limits = (
        f"warns at {money(caps.warn_usd)}, stops at {money(caps.stop_usd)}, "
        f"at most {money(caps.burn_usd_per_minute)} a minute"
    )
    lines = [
        "Dry run: nothing was started, nothing was sent, cost $0.00",
        f"Goal       {one_line(request.goal, 200)}",
        f"Repository {shown(request.repository)}",
        f"Base       {shown(base)}",
        f"Pacing     {config.pacing}",
        f"Caps       {limits}",
        f"Approvals  plan {config.approvals.plan}, changesets {config.approvals.changeset}",
        f"Sandbox    {NO_SANDBOX if config.sandbox == 'none' else 'required'}",
        f"Gates      {', '.join(map(shown, gates)) or NO_GATES}",
        *routes(config),
    ]
    changed = {k: o for k, o in origins.items() if o != "default"}
    return [*lines, *(f"  {key} from {shown(origin)}" for key, origin in changed.items())]


def warnings(found: Sequence[str]) -> list[str]:
    """Return what may surprise a person about the repository, one line each."""
    return [f"Note       {shown(text)}" for text in found]


def routes(config: "SessionConfig") -> list[str]:
    """Return which models would be asked, by role."""
    names = {"planner": config.routes.planner, "developer": config.routes.developer}
    names["reviewer"] = config.routes.reviewer
    lines = [f"{role.capitalize():<11}{', '.join(models)}" for role, models in names.items()]
    return [*lines, f"Models     {SCRIPTED}"] if is_scripted(config) else lines


# --- answers of commands -------------------------------------------------------------------------


def decided(how: str, ask: Ask, session: str) -> list[str]:
    """Return the message after a decision was sent, without the session's labels."""
    what = "the plan" if isinstance(ask, PlanAsk) else f"changeset {ask.id} ({ask.digest[:12]})"
    return [f"{how}: {what} of session {session}"]


def judged_note(session: ShownSession, ask: Ask) -> list[str]:
    """Return what gates and reviewers said of a decision's subject; nothing for the plan."""
    if isinstance(ask, PlanAsk):
        return []
    found = (each for each in session.changesets if each.id == ask.id)
    return [line for each in found for line in work_words.verdict_lines(each)]


def told(what: str, session: str) -> list[str]:
    """Return the message after a signal was sent, without the session's labels."""
    return [f"{shown(what)}: sent to session {session}"]


# --- styles --------------------------------------------------------------------------------------

_STYLES: Final = {
    "merged": "green",
    "failed": "red",
    "timed_out": "red",
    "blocked": "yellow",
    "rejected": "yellow",
    "skipped": "dim",
    "cancelled": "dim",
    "dropped": "dim",
    "developing": "cyan",
    "validating": "cyan",
    "merging": "cyan",
    "awaiting": "bold yellow",
}


def style(line: str) -> str:
    """Return a line's style, for terminals with colours; colour is never the only sign."""
    if NO_SANDBOX in line:
        return "bold red"
    if SCRIPTED in line:
        return "magenta"
    if line in _TITLES:
        return "bold"
    first = line.split(maxsplit=1)[0] if line.startswith("  ") and line.strip() else ""
    return _STYLES.get(first, "")
