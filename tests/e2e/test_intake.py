"""Issues and queued goals with the real workers: from a label to merged work, each issue once."""

import asyncio
import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
import pytest_asyncio

from activities.adapters.hosting.simulated_hosting.hosting_simulator import (
    VARIABLE,
    SimulatedHosting,
)
from activities.adapters.hosting.simulated_hosting.simulated_issues import (
    SimulatedIssue,
    SimulatedTracker,
)
from starter.console.exit_codes import ExitCode
from tests.e2e.processes import ROOT, blueflame, children, command_line, kill, repository
from tests.waiting import LONG_PATIENCE, until
from workers.server.supervisor import read_state
from workers.settings import Settings

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(900)]

GREETING = str(ROOT / "examples" / "greeting" / "playbook.yaml")
CONFIG = "version: 1\ngates:\n  there: {run: test -e README}\n"
NEVER = "0 0 1 1 *"


@dataclass
class Place:
    """A server with workers, a repository, and the service that its issues are on."""

    settings: Settings
    service: SimulatedHosting
    repo: Path
    variables: dict[str, str]

    async def run(self, *arguments: str, code: ExitCode = ExitCode.COMPLETE) -> str:
        """Run one command to its end, and return what it printed."""
        ran = await self.tried(*arguments)
        assert ran.returncode == code, ran.stdout + ran.stderr
        return ran.stdout + ran.stderr

    async def tried(self, *arguments: str) -> "CompletedProcess[str]":
        """Run one command to its end."""
        return await asyncio.to_thread(blueflame, self.settings, *arguments, more=self.variables)

    async def started(self, *arguments: str, code: ExitCode = ExitCode.COMPLETE) -> str:
        """Run a command that takes the options of `run`."""
        common = ("--repo", str(self.repo), "--playbook", GREETING)
        return await self.run(*arguments, *common, code=code)

    async def queue(self) -> dict[str, Any]:
        """Return the state of the only queue."""
        (found,) = json.loads(await self.run("queue", "list", "--json"))["queues"]
        return found["state"]

    def url(self, number: int) -> str:
        return f"{self.service.url}/acme/shop/issues/{number}"


@pytest_asyncio.fixture
async def place(tmp_path: Path) -> AsyncGenerator[Place]:
    settings = Settings(data_dir=tmp_path / "data", temporal_port=0, ui_port=0)
    own = tmp_path / "config" / "blueflame" / "blueflame.yaml"
    own.parent.mkdir(parents=True)
    async with SimulatedHosting("github") as service:
        host = service.url.removeprefix("http://")
        entry = f"{{api: github, url: '{service.url}', token: {VARIABLE}, repositories: ['*']}}"
        own.write_text(f"version: 1\nhosting:\n  '{host}': {entry}\n")
        issues = [
            SimulatedIssue(1, "Greet the world", "In greeting.txt.", ("agents",)),
            SimulatedIssue(2, "Greet it again", "In greeting.txt.", ("agents", "later")),
            SimulatedIssue(3, "Something else"),
            SimulatedIssue(4, "A pull request", labels=("agents",), is_pull=True),
        ]
        service.issues.add("acme/shop", SimulatedTracker(issues, is_private=True))
        repo = repository(tmp_path / "shop", {"README": "x\n", "blueflame.yaml": CONFIG})
        config = repo / ".git" / "config"
        remote = f'[remote "origin"]\n\turl = {service.url}/acme/shop.git\n'
        config.write_text(config.read_text() + remote)
        variables = {"XDG_CONFIG_HOME": str(own.parents[1]), VARIABLE: service.token}
        made = Place(settings, service, repo, variables)
        await made.run("up", "--detach", "--playbook", GREETING)
        yield made
        await made.tried("up", "--stop")


async def test_issues_of_a_label_are_worked_off_once_each_and_one_after_the_other(
    place: Place,
) -> None:
    add = ("schedule", "add", "tidy", "--issues", "agents", "--cron", NEVER, "--auto-approve")
    assert "2 open issues have the label 'agents' now" in await place.started(*add)

    async def last(kind: str, reason: str) -> None:
        seen: list[Any] = []

        async def is_there() -> bool:
            seen[:] = json.loads(await place.run("schedule", "list", "--json"))["schedules"]
            return (seen[0]["last"], seen[0]["last_reason"]) == (kind, reason)

        await until(is_there, reason, LONG_PATIENCE, seen=lambda: seen)

    await place.run("schedule", "trigger", "tidy")
    await last("queued", "2 new, 0 known before")
    states: list[dict[str, Any]] = []

    async def are_done() -> bool:
        states[:] = [await place.queue()]
        return len(states[0]["done"]) == 2

    await until(are_done, "both issues are done", LONG_PATIENCE, seen=lambda: states)
    assert states[0]["done"] == [place.url(1), place.url(2)]
    assert states[0]["failed"] == []
    sessions = json.loads(await place.run("ls", "--json"))["sessions"]
    assert [each["state"] for each in sessions] == ["complete", "complete"]
    assert sessions[0]["started_at"] >= sessions[1]["closed_at"]

    await place.run("schedule", "trigger", "tidy")
    await last("queued", "0 new, 2 known before")
    # Nobody followed these sessions, and each has its report.
    reports = place.settings.data_dir / "reports"
    for each in sessions:
        file = reports / f"{each['session']}.html"
        await until(file.exists, f"the report {file}", LONG_PATIENCE)
        assert "Greet" in file.read_text()


def kill_workers(settings: Settings, *roles: str) -> None:
    """Kill the workers of these roles; what keeps them starts them again."""
    kept = read_state(settings)
    assert kept is not None
    mine = [each for each in children(kept.pid) if {*roles} & {*command_line(each)}]
    assert len(mine) == len(roles)
    for each in mine:
        kill(each)


async def test_a_queued_goal_that_failed_is_listed_and_put_back(place: Place) -> None:
    said = await place.started("run", "--queue", "--issue", place.url(3))
    assert "queued as" in said
    # While they find out which session to start: it is started once all the same.
    kill_workers(place.settings, "land", "workflows")
    again = await place.started("run", "--queue", "--issue", place.url(3))
    assert "is in the queue, set aside, or done already" in again
    states: list[dict[str, Any]] = []

    async def session() -> str:
        async def has_begun() -> bool:
            states[:] = [await place.queue()]
            return bool(states[0]["session"]) and states[0]["session"] in await place.run("ls")

        await until(has_begun, "a session of the queue", LONG_PATIENCE, seen=lambda: states)
        return states[0]["session"]

    first = await session()
    assert f"session {first}" in await place.run("queue", "list")
    await place.run("stop", first)

    async def is_aside() -> bool:
        return first in await place.run("ls", "--failed")

    await until(is_aside, "it is set aside", LONG_PATIENCE)
    assert "its session ended as stopped" in await place.run("ls", "--failed")
    assert "queued again" in await place.run("requeue", first[-8:])
    second = await session()
    assert second != first
    refused = await place.run("queue", "remove", second, code=ExitCode.STALE)
    assert "is the goal of open session" in refused
    await place.run("stop", second)
    sessions = json.loads(await place.run("ls", "--json"))["sessions"]
    assert [each["session"] for each in sessions] == [second, first]


async def test_addresses_that_name_no_readable_issue_are_refused_at_once(place: Place) -> None:
    for address, said in (
        (place.url(4), "is a pull request, not an issue"),
        (place.url(9), "does not exist, or the token may not read it"),
        (f"{place.service.url}/acme/shop/pull/1", "names a pull request, not an issue"),
        (f"{place.service.url}/acme/shop", "is not the address of an issue"),
        ("https://git.example/a/b/issues/1", "it is not known which API 'git.example' speaks"),
    ):
        assert said in await place.started("run", "--issue", address, code=ExitCode.USAGE)
    place.variables[VARIABLE] = "wrong"
    said = await place.started("run", "--issue", place.url(1), code=ExitCode.USAGE)
    assert "the token may not read it (status 401)" in said
    place.variables[VARIABLE] = ""
    said = await place.started("run", "--issue", place.url(1), code=ExitCode.USAGE)
    assert f"not everyone may read it: set {VARIABLE}" in said
