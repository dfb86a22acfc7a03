"""The times in which a session waited for a person, read from its own history. Pure.

| wait for              | begins with                                   | ends with              |
|-----------------------|-----------------------------------------------|------------------------|
| the plan's approval   | phase `awaiting_plan`, in the memo            | the next phase         |
| changeset X           | the end of the last validation before         | the decision about it  |
| an answer about X     | the agent's question                          | the answer to it       |
| a resume              | `pause`, a reached limit, an agent that holds | `resume`, `set_budget` |

What a rule decides at once takes no time. What is open when the session ends, ends with it.
"""

from datetime import datetime
from typing import Final

from workers.telemetry.traces.span_values import Span
from workers.telemetry.traces.trace_ids import digest

_AWAITING: Final = "awaiting_plan"
_PAUSED: Final = "paused"
_ON_CHANGESET: Final = frozenset({"approve_changeset", "reject_changeset"})
_RESUMING: Final = frozenset({"resume", "set_budget", "stop"})
PLAN: Final = "wait for approval of the plan"
RESUME: Final = "wait for a resume"


class PersonWaits:
    """Collects the waits of one session."""

    def __init__(self, session: str) -> None:
        """Args: the id of the session's span."""
        self._session = session
        self._open: dict[str, datetime] = {}
        self._done: dict[tuple[str, datetime], datetime] = {}
        """The end of each by its name and beginning: the last decision about it counts."""
        self._validated: datetime | None = None

    def entered(self, at: datetime, phase: str) -> None:
        """The session entered a phase."""
        if phase == _AWAITING:
            self._open.setdefault(PLAN, at)
        elif phase != _PAUSED:
            self._close(PLAN, at)

    def validated(self, at: datetime) -> None:
        """A validation ended: its changesets can be decided from now on."""
        self._validated = at

    def decided(self, at: datetime, what: str, subject: str) -> None:
        """A person decided something.

        Args:
            at: when.
            what: the decision's name.
            subject: the `id` that it names; empty without one.
        """
        if what in _ON_CHANGESET and self._validated is not None:
            self._done[f"wait for a decision on changeset {subject}", self._validated] = at
        elif what == "pause":
            self.halted(at)
        elif what in _RESUMING:
            self._close(RESUME, at)

    def halted(self, at: datetime) -> None:
        """The session, or an agent of it, goes on only when a person says so."""
        self._open.setdefault(RESUME, at)

    def asked(self, at: datetime, about: str) -> None:
        """An agent asked the person."""
        self._open.setdefault(_question(about), at)

    def answered(self, at: datetime, about: str) -> None:
        """An agent got its answer."""
        self._close(_question(about), at)

    def _close(self, what: str, at: datetime) -> None:
        if (since := self._open.pop(what, None)) is not None:
            self._done[what, since] = at

    def spans(self, ended: datetime | None) -> list[Span]:
        """Return a span for each wait. Args: `ended`: when the session did; None: it is open."""
        done = [self._span(what, since, at) for (what, since), at in self._done.items()]
        return done + [self._span(what, since, ended) for what, since in self._open.items()]

    def _span(self, what: str, since: datetime, until: datetime | None) -> Span:
        return Span(
            id=digest("wait", self._session, what, since.isoformat())[:16],
            parent=self._session,
            kind="wait",
            name=what,
            began=since,
            ended=until,
            outcome="running" if until is None else "completed",
        )


def _question(about: str) -> str:
    return f"wait for an answer about {about}"
