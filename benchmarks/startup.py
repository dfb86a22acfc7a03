"""Measures how fast the command line answers, and how soon a session calls its first model.

Keys of the last line:
    help_cpu_s      processor seconds of `blueflame --help`, the median of several runs
    status_cpu_s    the same of `blueflame status`, for a session on a running server
    first_call_s    seconds from the start of the process `blueflame run` until the first model call
                    is sent, if server and workers have to be started first
    first_call_standing_s   the same if `blueflame up` already runs them

The model is scripted. A first run, which does not count, fills the page cache.
"""

import asyncio
import contextlib
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Final

from benchmarks.stage import report
from starter.console.exit_codes import ExitCode
from starter.sessions.session_client import Sessions
from tests.e2e.processes import end, environment, repository, until
from workers.server.supervisor import read_state
from workers.settings import Settings
from workers.temporal.connection import connect
from workflows.domain.ids import SessionId

_RUNS: Final = 5
_SESSIONS: Final = 4
_PLAYBOOK: Final = """
schema: 1
name: startup
scenes:
  - role: planner
    turns:
      - calls:
          - submit_plan:
              tasks: [{id: a, title: A, acceptance_criteria: [c], claims: [a.txt]}]
"""


def _command(*arguments: str) -> list[str]:
    return [sys.executable, "-P", "-m", "starter", *arguments]


def cpu_seconds(settings: Settings, *arguments: str) -> float:
    """Return the processor seconds of one command, the median of several runs.

    Raises:
        CalledProcessError: it failed.
    """
    found: list[float] = []
    for _ in range(_RUNS + 1):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            _command(*arguments),
            env=environment(settings),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            check=True,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return statistics.median(found[1:])


def start_session(settings: Settings, repo: Path, playbook: Path) -> tuple[str, float]:
    """Run a session until its plan waits; return its id, and when the command was started.

    Raises:
        CalledProcessError: it did not get to the plan.
    """
    began = time.time()
    arguments = ("run", "Begin", "--repo", str(repo), "--playbook", str(playbook))
    done = subprocess.run(
        _command(*arguments),
        env=environment(settings),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode != ExitCode.WAITING:
        raise subprocess.CalledProcessError(done.returncode, arguments, done.stdout)
    return done.stdout.split()[1], began


def first_calls(settings: Settings, started: Sequence[tuple[str, float]]) -> list[float]:
    """Return the seconds until the first model call, for each session except the first.

    The server must be running.
    """
    return [asyncio.run(_asked_at(settings, name)) - began for name, began in started[1:]]


async def _asked_at(settings: Settings, session: str) -> float:
    client = await connect(settings)
    past = await Sessions(client).turns(SessionId(session), None).past()
    said = next(each for each in past if each.kind == "said" and each.took is not None)
    assert said.took is not None
    return (said.at - said.took).timestamp()


@contextlib.contextmanager
def standing(settings: Settings, playbook: Path) -> Generator[None]:
    """Run server and workers during the block."""
    with settings.data_dir.joinpath("bench-up.log").open("wb") as log:
        up = subprocess.Popen(
            _command("up"),
            env=environment(settings, BLUEFLAME_PLAYBOOK=str(playbook)),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
        try:
            until(lambda: (state := read_state(settings)) is not None and state.ready, "`up` is up")
            yield
        finally:
            end(up)


def main() -> None:
    """Measure all, and report."""
    with tempfile.TemporaryDirectory(prefix="blueflame-bench-") as name:
        top = Path(name)
        settings = Settings(data_dir=top / "data", temporal_port=0, ui_port=0)
        settings.data_dir.mkdir()
        repo = repository(top / "repo", {"a.txt": "a\n"})
        playbook = top / "playbook.yaml"
        playbook.write_text(_PLAYBOOK)
        cold = [start_session(settings, repo, playbook) for _ in range(_SESSIONS)]
        with standing(settings, playbook):
            warm = [start_session(settings, repo, playbook) for _ in range(_SESSIONS)]
            first = {"cold": first_calls(settings, cold), "standing": first_calls(settings, warm)}
            figures = {
                "help_cpu_s": round(cpu_seconds(settings, "--help"), 3),
                "status_cpu_s": round(cpu_seconds(settings, "status"), 3),
                "first_call_s": round(statistics.median(first["cold"]), 2),
                "first_call_standing_s": round(statistics.median(first["standing"]), 2),
            }
        report(figures, [f"first calls: {first}; load average {os.getloadavg()[0]:.1f}"])


if __name__ == "__main__":
    main()
