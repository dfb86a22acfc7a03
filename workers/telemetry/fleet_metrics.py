"""Gauges of all open sessions, of the queues and of the disk: looked at every few seconds.

Each worker of role `workflows` sets the same gauges of sessions and queues, so that they are there
as long as one of them runs; who reads them takes the maximum over all workers.
"""

import asyncio
import logging
import os
import shutil
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Final

from temporalio.client import Client

from activities.ports.measures import Measure, ShowRows
from workers.telemetry.fleet import Fleet, OpenSession, read_fleet
from workers.telemetry.fleet_findings import alive, idle, parked_calls, waited, waits_for_person
from workers.telemetry.metric_table import MOST, OTHER, WaitKind
from workflows.domain.budget import LedgerView
from workflows.domain.changeset import ChangesetState
from workflows.domain.session.session_modes import SessionPhase
from workflows.domain.task import TaskState
from workflows.policy.money import grants
from workflows.policy.text.log_events import log_event

_log = logging.getLogger(__name__)

_LOOK_SECONDS: Final = 15.0
_SHARE: Final = 20
"""It rests this many times as long as it took to look: at most a twentieth of one core."""
_REMEMBERED: Final = timedelta(days=1)
"""How long a queue that is gone is shown as empty."""


async def repeat(look: Callable[[], Awaitable[None]], what: str, stop: asyncio.Event) -> None:
    """Look until `stop` is set; what fails is tried again, and said once. It never raises.

    Args:
        look: measures once.
        what: is said to be not measurable.
        stop: ends it.
    """
    is_failing = False
    while not stop.is_set():
        began = time.monotonic()
        try:
            await look()
            is_failing = False
        except Exception as error:  # noqa: BLE001  (the next look may succeed)
            if not is_failing:
                log_event(_log, "not_measured", what=what, reason=repr(error))
            is_failing = True
        rest = max(_LOOK_SECONDS, _SHARE * (time.monotonic() - began))
        with suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), rest)


async def measure_fleet(
    measure: Measure, show: ShowRows, client: Client, stop: asyncio.Event
) -> None:
    """Set the gauges of all sessions and queues until `stop` is set."""
    gauges = FleetGauges(measure, show)

    async def look() -> None:
        gauges.set(await read_fleet(client))

    await repeat(look, "the sessions", stop)


async def measure_disk(
    measure: Measure, place: Path, store: Path | None, stop: asyncio.Event
) -> None:
    """Set the gauges of the machine's disk until `stop` is set.

    Args:
        measure: takes them.
        place: a folder on the disk.
        store: the store, to measure its size too; None: another process does that.
        stop: ends it.
    """

    async def look() -> None:
        measure("blueflame_disk_free_bytes", shutil.disk_usage(place).free)
        if store is not None:
            measure("blueflame_store_bytes", await asyncio.to_thread(size_of, store))

    await repeat(look, "the disk", stop)


def size_of(folder: Path) -> int:
    """Return the size of all files below a folder, in bytes; 0 if it does not exist."""
    total = 0
    for place, _, files in os.walk(folder):
        for name in files:
            with suppress(OSError):  # it may be removed at any time
                total += os.lstat(os.path.join(place, name)).st_size  # noqa: PTH118 (a hundred thousand files)
    return total


class FleetGauges:
    """Sets the gauges of one look; what the last look found and this one did not is set to 0."""

    def __init__(self, measure: Measure, show: ShowRows) -> None:
        self._measure = measure
        self._show = show
        self._queues: dict[str, datetime] = {}
        """When each queue was seen last."""
        self._providers: set[str] = set()

    def set(self, fleet: Fleet) -> None:
        """Set all gauges."""
        self._set_states(fleet.sessions)
        self._set_waits(fleet)
        self._set_money(fleet)
        self._show_queues(fleet)
        # Their ids begin with the time, so the last ones are the latest.
        self._show_sessions(fleet.sessions[-MOST["session"] :], fleet)

    def _set_states(self, sessions: Iterable[OpenSession]) -> None:
        views = [each.view for each in sessions]
        seen = [view for view in views if view is not None]
        self._measure("blueflame_unanswered_sessions", len(views) - len(seen))
        phases = Counter(view.phase for view in seen)
        tasks = Counter(task.state for view in seen for task in view.tasks)
        sets = Counter(each.state for view in seen for each in view.changesets)
        for phase in SessionPhase:
            self._measure("blueflame_sessions", phases[phase], phase=phase)
        for state in TaskState:
            self._measure("blueflame_tasks", tasks[state], state=state)
        for each in ChangesetState:
            self._measure("blueflame_changesets", sets[each], state=each)

    def _set_waits(self, fleet: Fleet) -> None:
        waits = {each.session: waits_for_person(each) for each in fleet.sessions}
        kinds = Counter(wait.kind for found in waits.values() for wait in found)
        for kind in WaitKind:
            self._measure("blueflame_waits_for_person", kinds[kind], kind=kind)
        waiting = [waited(each, fleet) for each in fleet.sessions if waits[each.session]]
        others = [
            idle(each, fleet)
            for each in fleet.sessions
            if not waits[each.session] and not parked_calls([each])
        ]
        longest = "blueflame_longest_wait_for_person_seconds"
        self._measure(longest, _longest(waiting))
        self._measure("blueflame_longest_idle_seconds", _longest(others))
        calls = Counter(each.model.partition("/")[0] for each in parked_calls(fleet.sessions))
        self._providers |= set(calls)
        for provider in self._providers:
            self._measure("blueflame_parked_calls", calls[provider], provider=provider)

    def _set_money(self, fleet: Fleet) -> None:
        ledgers = [each.ledger for each in fleet.sessions if each.ledger is not None]
        spent = [each.settled_usd for each in ledgers]
        left = [_left(each) for each in ledgers]
        burn = [_burn(each, fleet.at) for each in ledgers]
        shares = [
            _burn(each, fleet.at) / each.burn_limit_usd_per_minute
            for each in ledgers
            if each.burn_limit_usd_per_minute
        ]
        self._measure("blueflame_spent_usd", float(sum(spent)))
        self._measure("blueflame_budget_left_usd", float(sum(left)))
        self._measure("blueflame_burn_usd_per_minute", float(sum(burn)))
        self._measure("blueflame_burn_limit_ratio", float(max(shares, default=0)))

    def _show_queues(self, fleet: Fleet) -> None:
        now = {each.queue: each for each in fleet.queues}
        seen = self._queues | dict.fromkeys(now, fleet.at)
        self._queues = {each: at for each, at in seen.items() if fleet.at - at < _REMEMBERED}
        # What was seen last comes first, so that a dead host's name never displaces a living one's.
        names = sorted(self._queues, key=self._queues.__getitem__, reverse=True)
        pollers = {name: len(alive(each, fleet)) for name, each in now.items()}
        backlogs = {name: each.backlog for name, each in now.items()}
        self._show("blueflame_queue_pollers", _rows("queue", names, pollers))
        self._show("blueflame_queue_backlog", _rows("queue", names, backlogs))

    def _show_sessions(self, sessions: Sequence[OpenSession], fleet: Fleet) -> None:
        named = [({"session": each.session}, each) for each in sessions]
        ledgers = [(name, each.ledger) for name, each in named if each.ledger is not None]
        self._show(
            "blueflame_session_spent_usd",
            [(float(ledger.settled_usd), name) for name, ledger in ledgers],
        )
        self._show(
            "blueflame_session_budget_left_usd",
            [(float(_left(ledger)), name) for name, ledger in ledgers],
        )
        self._show(
            "blueflame_session_burn_usd_per_minute",
            [(float(_burn(ledger, fleet.at)), name) for name, ledger in ledgers],
        )
        self._show(
            "blueflame_session_tasks",
            [
                (count, name | {"state": state})
                for name, each in named
                if each.view is not None
                for state, count in Counter(task.state for task in each.view.tasks).items()
            ],
        )
        self._show(
            "blueflame_session_waits_for_person",
            [(len(waits_for_person(each)), name) for name, each in named],
        )
        self._show(
            "blueflame_session_quiet_seconds",
            [(_longest([fleet.at - each.last_event]), name) for name, each in named],
        )


def _rows(
    label: str, names: Sequence[str], values: Mapping[str, int]
) -> list[tuple[float, dict[str, str]]]:
    """Return a gauge's rows: 0 where there is no value, and the sum of all too many as `other`."""
    most = MOST[label]
    rows = [(float(values.get(name, 0)), {label: name}) for name in names[:most]]
    if rest := names[most:]:
        rows.append((float(sum(values.get(name, 0) for name in rest)), {label: OTHER}))
    return rows


def _burn(ledger: LedgerView, at: datetime) -> Decimal:
    if ledger.samples is None:
        return ledger.burn_usd_per_minute
    return grants.burn_rate(ledger.samples, at)


def _left(ledger: LedgerView) -> Decimal:
    return max(ledger.cap_usd - ledger.settled_usd, Decimal(0))


def _longest(times: Iterable[timedelta]) -> float:
    # Something may have happened after the look began.
    return max([timedelta(), *times]).total_seconds()
