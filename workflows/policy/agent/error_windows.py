"""When errors of a provider or a tool let the agents that use it wait, and for how long.

Each agent reports what it counted. A subject whose share of errors in the last `WINDOW` is above
the session's limit is held for as long: agents that used it wait before their next call, or use
another model of their route. Afterwards it is on probation: the first error holds it again, the
first report without one ends that. A person who resumes the session ends all holds: nothing from
before that counts any more.

| of a      | counts as an error                                                                |
|-----------|-----------------------------------------------------------------------------------|
| provider  | no answer, a cut answer, an internal error; not its rate limit and not a refusal  |
| tool      | it gave no answer, or a limit ended it; only if it happens to at least two agents |
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from workflows.domain.error_count import CallCount, Counted, CountSample, CountWindow, Hold
from workflows.domain.evolution import evolve
from workflows.domain.ids import AgentId
from workflows.errors import FailureType
from workflows.policy.money.amounts_in_words import counted

WINDOW: Final = timedelta(minutes=5)
LEAST_CALLS: Final = 20
"""Fewer calls in the window say too little."""
LEAST_AGENTS: Final = 2
"""To how many agents a tool must fail: what one agent does wrong ends at most that agent."""
REPORT_EVERY: Final = 20
"""An agent without errors reports after so many calls."""
_MOST_USERS: Final = 128
_SAMPLE_EVERY: Final = timedelta(seconds=5)
_PROVIDER: Final = "provider "
_TOOL: Final = "tool "
_FAULTS: Final = frozenset(
    {FailureType.OUTCOME_UNKNOWN, FailureType.PROVIDER_UNAVAILABLE, FailureType.WAIT_TOO_LONG}
)

Windows = tuple[CountWindow, ...]


def provider_subject(provider: str) -> str:
    """Return the subject of calls to a provider."""
    return f"{_PROVIDER}{provider}"


def tool_subject(tool: str) -> str:
    """Return the subject of calls of a tool."""
    return f"{_TOOL}{tool}"


def is_providers_error(failure: str) -> bool:
    """Tell whether a failed model call counts as an error of its provider. Args: its type."""
    return failure in _FAULTS


def take(
    windows: Windows, report: Counted, percent: int, at: datetime
) -> tuple[Windows, tuple[CountWindow, ...]]:
    """Take up one agent's report.

    Args:
        windows: one for each subject.
        report: what the agent counted since its last one.
        percent: the limit; above it a subject is held. 0: nothing ever is.
        at: now.

    Returns:
        The new windows, and those of subjects that are held from now on.
    """
    if percent == 0:
        return windows, ()
    known = {each.subject: each for each in windows}
    for subject in report.resumed:
        if subject in known:
            known[subject] = CountWindow(subject=subject)
    fresh: list[CountWindow] = []
    for count in report.counts:
        before = known.get(count.subject, CountWindow(subject=count.subject))
        after = _taken(before, count, report, percent, at)
        known[count.subject] = after
        if _is_held(after, at) and not _is_held(before, at):
            fresh.append(after)
    return tuple(known.values()), tuple(fresh)


def without_holds(windows: Windows) -> Windows:
    """Return the windows after a person ended all holds: what was held is counted from now on."""
    return tuple(each if each.held_until is None else each.ended() for each in windows)


def since_resumed(report: Counted, resumed_at: datetime | None) -> Counted:
    """Return a report without its errors if they are of calls from before a person resumed.

    A call whose attempts failed may be answered long after that.

    Args:
        report: an agent's.
        resumed_at: when a person last ended all holds; None: never.
    """
    if resumed_at is None or report.since is None or report.since > resumed_at:
        return report
    counts = tuple(evolve(each, {"errors": 0}) for each in report.counts)
    return evolve(report, {"counts": counts})


def held(windows: Windows, report: Counted, at: datetime) -> tuple[Hold, ...]:
    """Return the holds on what an agent has just used."""
    used = {each.subject for each in report.counts}
    return tuple(
        Hold(subject=each.subject, until=each.held_until)
        for each in windows
        if each.subject in used and each.held_until is not None and _is_held(each, at)
    )


def hold_text(window: CountWindow, session: str) -> str:
    """Tell a person what is held, why, until when, and how to go on at once."""
    until = "" if window.held_until is None else f"{window.held_until:%H:%M} UTC"
    minutes = int(WINDOW.total_seconds()) // 60
    of = f"{counted(window.last_errors, 'error')} in {counted(window.last_calls, 'call')}"
    return (
        f"{window.subject}: {of} in {minutes} minutes, so the agents that need it wait until "
        f"{until}; `blueflame resume {session}` lets them go on now"
    )


def _taken(
    window: CountWindow, count: CallCount, report: Counted, percent: int, at: datetime
) -> CountWindow:
    """Take up one count.

    | the subject                   | the count      | what follows              |
    |-------------------------------|----------------|---------------------------|
    | is held                       | any            | only its user is noted    |
    | was held within the window    | has an error   | held again                |
    | was held within the window    | has none       | counted from now on       |
    | is not held                   | any            | counted; held above limit |
    """
    failing = (report.agent,) if count.errors else ()
    users = _noted(window.users, report)
    if _is_held(window, at):
        return window.noting(users)
    if window.held_until is not None and at < window.held_until + WINDOW and count.errors:
        return CountWindow(
            subject=window.subject,
            users=users,
            held_until=at + WINDOW,
            last_calls=count.calls,
            last_errors=count.errors,
        )
    sample = CountSample(at=at, calls=count.calls, errors=count.errors, failing=failing)
    samples = _sampled(window.samples, sample)
    calls, errors = sum(each.calls for each in samples), sum(each.errors for each in samples)
    agents = {agent for each in samples for agent in each.failing}
    is_above = calls >= LEAST_CALLS and errors * 100 > percent * calls
    if is_above and len(agents) >= _agents_needed(window.subject):
        return CountWindow(
            subject=window.subject,
            users=users,
            held_until=at + WINDOW,
            last_calls=calls,
            last_errors=errors,
        )
    return CountWindow(subject=window.subject, samples=samples, users=users)


def _noted(users: Mapping[AgentId, str], report: Counted) -> dict[AgentId, str]:
    """Note an agent as the latest user; no more are kept than may work at once."""
    others = [(agent, each) for agent, each in users.items() if agent != report.agent]
    return dict([*others, (report.agent, report.workflow_id)][-_MOST_USERS:])


def _agents_needed(subject: str) -> int:
    return LEAST_AGENTS if subject.startswith(_TOOL) else 1


def _is_held(window: CountWindow, at: datetime) -> bool:
    return window.held_until is not None and at < window.held_until


def _sampled(samples: Sequence[CountSample], fresh: CountSample) -> tuple[CountSample, ...]:
    """Add a sample, at most one per `_SAMPLE_EVERY`, and drop those outside the window."""
    kept = tuple(each for each in samples if each.at > fresh.at - WINDOW)
    if not kept or fresh.at - kept[-1].at >= _SAMPLE_EVERY:
        return (*kept, fresh)
    last = kept[-1]
    merged = CountSample(
        at=last.at,
        calls=last.calls + fresh.calls,
        errors=last.errors + fresh.errors,
        failing=tuple(dict.fromkeys((*last.failing, *fresh.failing))),
    )
    return (*kept[:-1], merged)


# --- what an agent does with holds ----------------------------------------------------------------


def is_ended(hold: Hold, resumed_at: datetime | None) -> bool:
    """Tell whether a hold that comes now began before a person ended all holds."""
    return resumed_at is not None and hold.until - WINDOW <= resumed_at


def current(holds: Sequence[Hold], at: datetime) -> tuple[Hold, ...]:
    """Return the holds that are not over."""
    return tuple(each for each in holds if at < each.until)


def with_hold(holds: Sequence[Hold], hold: Hold) -> tuple[Hold, ...]:
    """Return the holds with one more, which replaces an older one of the same subject."""
    return (*(each for each in holds if each.subject != hold.subject), hold)


def held_providers(holds: Collection[Hold]) -> tuple[str, ...]:
    """Return the providers that are held, as `provider/*`."""
    found = (each.subject for each in holds if each.subject.startswith(_PROVIDER))
    return tuple(f"{each.removeprefix(_PROVIDER)}/*" for each in found)


def applying(holds: Sequence[Hold], provider: str) -> Hold | None:
    """Return the hold that lets an agent wait the longest.

    Args:
        holds: on what the agent used, that are not over.
        provider: of the model that it asks next; holds on others do not matter.
    """
    mine = provider_subject(provider)
    found = [each for each in holds if each.subject.startswith(_TOOL) or each.subject == mine]
    return max(found, key=lambda each: each.until, default=None)


def users_of(window: CountWindow, but: AgentId) -> tuple[str, ...]:
    """Return the workflows of the agents that used a subject, in the order of their first use.

    Args:
        window: the subject's.
        but: the agent that is told anyway.
    """
    return tuple(workflow for agent, workflow in window.users.items() if agent != but)
