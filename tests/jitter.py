"""A pytest plugin, `-p tests.jitter`: the run as on a machine that has too much to do.

Calls to Temporal, the steps of workflows and the activities that a test plays begin and answer
late; the processes of the run stand still for moments. Both at random, by `JITTER_SEED`. What fails
then leans on timing: more often than not it is the code, and not its test. Some can only fail in
this way: those that stop a process themselves, and find it running.
"""

import asyncio
import contextlib
import os
import random
import signal
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, cast

import pytest
import temporalio.bridge.client
from temporalio import activity
from temporalio.bridge.proto.workflow_activation import WorkflowActivation
from temporalio.common import RawValue
from temporalio.worker._workflow import _WorkflowWorker  # pyright: ignore[reportPrivateUsage]

_WORKER: Final = os.environ.get("PYTEST_XDIST_WORKER", "")
_chance = random.Random(f"{os.environ.get('JITTER_SEED', '1')}{_WORKER}")
_LATE_S: Final = 0.4
_STILL_S: Final = (0.05, 0.2, 0.5, 1.5)
_AT_ONCE: Final = 4
_APART_S: Final = 0.3
"""At most so long, in each case."""

_call = temporalio.bridge.client.Client.call
_step = _WorkflowWorker._handle_activation  # pyright: ignore[reportPrivateUsage]


def pytest_configure(config: pytest.Config) -> None:
    """Make calls late from here on, and let processes stand still."""
    temporalio.bridge.client.Client.call = _late_call
    _WorkflowWorker._handle_activation = _late_step  # pyright: ignore[reportPrivateUsage]
    if not _WORKER:
        over = threading.Event()
        stalling = threading.Thread(target=_stall, args=(over,), daemon=True, name="jitter")
        stalling.start()
        config.add_cleanup(stalling.join)
        config.add_cleanup(over.set)


async def _late_call(self: temporalio.bridge.client.Client, **call: Any) -> Any:
    await _pause()
    try:
        return await _call(self, **call)
    finally:
        await _pause()


async def _late_step(self: _WorkflowWorker, act: WorkflowActivation) -> None:
    await _pause()
    await _step(self, act)


def pytest_sessionstart() -> None:
    """Make the theatre's activities late, now that it has been loaded as a plugin."""
    from tests.theatre import Theatre

    act = Theatre.act

    class LateTheatre(Theatre):
        @activity.defn(dynamic=True)
        async def act(self, inputs: Sequence[RawValue]) -> Any:
            await _pause()
            try:
                return await act(self, inputs)
            finally:
                await _pause()

    Theatre.act = cast("Any", LateTheatre.act)


async def _pause() -> None:
    if _chance.random() < 1 / 3:
        await asyncio.sleep(_LATE_S * _chance.random() ** 4)


def _stall(over: threading.Event) -> None:
    while not over.wait(_APART_S * _chance.random()):
        running = list(_running_below(os.getpid()))
        chosen = _chance.sample(running, min(len(running), _chance.randint(1, _AT_ONCE)))
        _send(chosen, signal.SIGSTOP)
        over.wait(_chance.choice(_STILL_S) * _chance.random())
        _send(chosen, signal.SIGCONT)


def _send(processes: Sequence[int], number: signal.Signals) -> None:
    for each in processes:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(each, number)


def _running_below(top: int) -> Iterator[int]:
    """Yield the descendants of a process that no one has stopped."""
    below: dict[int, list[tuple[int, str]]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, parent = stat.read_text().rpartition(") ")[2].split()[:2]
            below.setdefault(int(parent), []).append((int(stat.parent.name), state))
    found = [top]
    for each in found:
        for process, state in below.get(each, ()):
            found.append(process)
            if state not in {"T", "Z"}:
                yield process
