"""Sessions that propose their work on a simulated hosting service, over HTTP, with real workers.

The worker of role `land` is killed at each step, by itself at fail points, and by this test while
the service answers: there is one pull request, and it is as it would have been.
"""

import json
import os
import signal
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, Literal, get_args

import pytest
from temporalio.client import WorkflowHandle

from activities.adapters.hosting.simulated_hosting.hosting_simulator import (
    VARIABLE,
    Served,
    SimulatedHosting,
)
from activities.adapters.hosting.simulated_hosting.simulated_answer import Operation
from activities.adapters.hosting.simulated_hosting.simulated_pulls import (
    SimulatedComment,
    SimulatedPull,
    SimulatedRepository,
    SimulatedReview,
)
from activities.adapters.models.scripted.playbook import Playbook
from activities.ports.land.hosting_entries import Api
from tests.crash import play
from tests.crash.stage import Stage, stage
from tests.waiting import LONG_PATIENCE, ends, until
from workers.roles import Role
from workflows.domain.session.query_answers import SessionResult, SessionView
from workflows.domain.session.session_config import PullRequestConfig

APIS: Final[tuple[Api, ...]] = get_args(Api)
STACK: Final = {"left": (), "top": ("left",)}
Handle = WorkflowHandle[Any, SessionResult]


@dataclass
class Proposal:
    """A running session, its repository, and the hosting service."""

    running: Stage
    service: SimulatedHosting
    variables: dict[str, str]
    there: SimulatedRepository
    handle: Handle
    repository: Path
    bare: Path

    @property
    def pulls(self) -> list[SimulatedPull]:
        """All pull requests, the oldest first."""
        return self.there.pulls

    async def restart(self, **more: str) -> None:
        """Start the worker of role `land` again."""
        await self.running.restart(Role.LAND, **self.variables, **more)

    async def dies_at(self, point: str) -> None:
        """Start the worker again so that it dies at a fail point, and wait until it has."""
        await self.restart(BLUEFLAME_FAIL_POINT=point)
        await self.running.actors[Role.LAND].died()

    async def killed_during(
        self, operation: Operation, meanwhile: Awaitable[object] | None = None
    ) -> None:
        """Kill the worker when the service has carried out a request and not answered yet."""
        land = self.running.actors[Role.LAND]

        def kill(served: Served) -> None:
            if served.operation == operation:
                self.service.on_served = lambda _: None
                os.kill(land.child.pid, signal.SIGKILL)

        self.service.on_served = kill
        if meanwhile is not None:
            await meanwhile
        await land.died()

    async def seen(self) -> SessionView:
        """Return what the session shows."""
        return await self.handle.query("state", result_type=SessionView)

    async def told(self, words: str) -> SessionView:
        """Wait until a notice has these words."""
        views: list[SessionView] = []

        async def is_told() -> bool:
            views.append(await self.seen())
            return any(words in each.text for each in views[-1].notices)

        shown = lambda: views[-1] if views else None  # noqa: E731
        await until(is_told, f"a notice with {words!r}", LONG_PATIENCE, shown)
        return views[-1]

    async def ended(self) -> SessionResult:
        """Wait for the end."""
        return await ends(self.handle.result(), "the session ends", LONG_PATIENCE)

    def pushed(self, branch: str) -> str:
        """Return what a branch holds on the remote."""
        return play.git(self.bare, "rev-parse", f"refs/heads/{branch}")


async def begin(running: Stage, service: SimulatedHosting, name: str, **config: Any) -> Proposal:
    """Start a session on a repository whose remote is on the service.

    Args:
        running: server and workers.
        service: the hosting service.
        name: of the repository.
        config: of the session.
    """
    repository = play.make_repository(running.folder / name)
    bare = running.folder / "remotes" / "acme" / f"{name}.git"
    play.git(repository, "init", "-q", "--bare", "-b", "main", str(bare))
    play.git(repository, "push", "-q", str(bare), "HEAD:refs/heads/main")
    play.git(repository, "remote", "add", "origin", f"{service.url}/acme/{name}.git")
    entry = service.entry(running.folder / "remotes", ["acme/*"])
    host = service.url.removeprefix("http://")
    known = json.dumps({host: entry.model_dump(mode="json")})
    variables = {"BLUEFLAME_HOSTING": known, VARIABLE: service.token}
    there = service.add(f"acme/{name}", bare)
    await running.restart(Role.LAND, **variables)
    handle = await play.start(running.client, repository, deliver="pull_request", **config)
    return Proposal(running, service, variables, there, handle, repository, bare)


def is_draft(pull: SimulatedPull) -> bool:
    """Tell whether it is a draft, by GitHub's field or by the title, as the other two do."""
    return pull.is_draft or pull.title.startswith(("WIP", "Draft"))


def as_document(book: Playbook) -> dict[str, Any]:
    """Return a playbook to change."""
    return book.model_dump(mode="json", by_alias=True, exclude_defaults=True)


def with_rework() -> Playbook:
    """Return a playbook of two tasks, and of the task `rework-1` on the files of one of them."""
    book = as_document(play.playbook({**STACK, "rework-1": ()}, turns=1))
    plan = book["scenes"][0]["turns"][-1]["calls"][0]["arguments"]
    plan["tasks"] = [each for each in plan["tasks"] if each["id"] in STACK]
    for scene in book["scenes"]:
        if scene.get("task") == "rework-1":
            text = json.dumps(scene["turns"]).replace("rework-1/log.txt", "left/log.txt")
            scene["turns"] = json.loads(text)
    return Playbook.model_validate(book)


def waiting(task: str) -> Playbook:
    """Return a playbook of two tasks, the second of which waits for its first answer."""
    document = play.playbook(STACK, turns=1).model_dump(
        mode="json", by_alias=True, exclude_defaults=True
    )
    scenes: Sequence[dict[str, Any]] = document["scenes"]
    scene = next(each for each in scenes if (each["role"], each.get("task")) == ("developer", task))
    scene["turns"][0]["latency_s"] = 600
    return Playbook.model_validate(document)


@pytest.mark.crash
@pytest.mark.timeout(900)
@pytest.mark.parametrize("last", ["change", "after-update"])
@pytest.mark.parametrize("api", APIS)
async def test_kills_at_each_step_leave_one_pull_request(
    tmp_path: Path, api: Api, last: Literal["change", "after-update"]
):
    book = play.playbook(STACK, turns=1)
    async with SimulatedHosting(api) as service, stage(tmp_path, book) as running:
        shop = await begin(running, service, "shop")
        await shop.killed_during("find")
        await shop.dies_at("after-push")
        await shop.dies_at("after-create")
        if last == "change":
            await shop.killed_during(last, shop.restart())
        else:
            await shop.dies_at(last)
        await shop.restart()
        result = await shop.ended()
    assert result.outcome == "complete", result.reason
    assert [(each.number, each.state) for each in shop.pulls] == [(1, "open")]
    (pull,) = shop.pulls
    assert (pull.branch, pull.target) == (result.branch, "main")
    assert not is_draft(pull)
    assert pull.body.count("<!-- blueflame:") == 1
    assert shop.pushed(pull.branch) == play.git(shop.repository, "rev-parse", pull.branch)


@pytest.mark.crash
@pytest.mark.timeout(900)
@pytest.mark.parametrize("last", ["change", "after-close"])
@pytest.mark.parametrize("api", APIS)
async def test_kills_while_it_is_created_and_closed_leave_it_closed(
    tmp_path: Path, api: Api, last: Literal["change", "after-close"]
):
    async with SimulatedHosting(api) as service, stage(tmp_path, waiting("top")) as running:
        shop = await begin(running, service, "shop")
        await shop.killed_during("create")
        await shop.restart(**({} if last == "change" else {"BLUEFLAME_FAIL_POINT": last}))
        await until_published(shop)
        stopping = shop.handle.signal("stop", {"by": "somebody"})
        if last == "change":
            await shop.killed_during(last, stopping)
        else:
            await stopping
            await shop.running.actors[Role.LAND].died()
        await shop.restart()
        result = await shop.ended()
    assert result.outcome == "stopped"
    assert [(each.number, each.state) for each in shop.pulls] == [(1, "closed")]


async def until_published(shop: Proposal) -> None:
    """Wait until the session knows its pull request."""
    seen: list[SessionView] = []

    async def is_known() -> bool:
        seen.append(await shop.seen())
        return bool(seen[-1].pulls)

    await until(is_known, "the session knows its pull request", LONG_PATIENCE, lambda: seen[-1:])


@pytest.mark.e2e
@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("api", APIS)
async def test_a_stack_is_proposed_one_change_is_reworked_and_a_stop_closes(
    tmp_path: Path, api: Api
):
    """The whole way, over HTTP, with the models' provider simulated too."""
    followed = PullRequestConfig(
        poll=timedelta(milliseconds=200), follow=timedelta(hours=1), feedback="auto", rounds=1
    )
    async with SimulatedHosting(api) as service, stage(tmp_path, with_rework()) as running:
        stacked = await begin(
            running, service, "stack", pull_request=PullRequestConfig(per="changeset")
        )
        shop = await begin(running, service, "shop", pull_request=followed)
        assert (await stacked.ended()).outcome == "complete"
        await until(
            lambda: bool(shop.pulls) and not is_draft(shop.pulls[0]),
            "the pull request is ready",
            LONG_PATIENCE,
            lambda: shop.pulls,
        )
        (pull,) = shop.pulls
        first = shop.pushed(pull.branch)
        asked = SimulatedComment("left/log.txt", 1, "Say it twice.")
        pull.reviews.append(SimulatedReview(1, "ann", "changes_requested", "Not yet.", (asked,)))
        await until(
            lambda: shop.pushed(pull.branch) != first,
            "the reworked branch is pushed",
            LONG_PATIENCE,
            lambda: shop.pulls,
        )
        pull.reviews.append(SimulatedReview(2, "ann", "changes_requested", "Still not.", ()))
        view = await shop.told("no rework is left")
        reworked = shop.pushed(pull.branch)
        await shop.handle.signal("stop", {"by": "somebody"})
        result = await shop.ended()
    low, high = stacked.pulls
    assert (low.target, high.target) == ("main", low.branch)
    assert (low.branch.rpartition("-")[2], high.branch.rpartition("-")[2]) == ("left", "top")
    assert [each.state for each in stacked.pulls] == ["open", "open"]
    assert [each.id for each in view.tasks] == ["left", "top", "rework-1"]
    assert result.outcome == "stopped", result.reason
    assert [(each.number, each.state) for each in shop.pulls] == [(1, "closed")]
    assert shop.pushed(pull.branch) == reworked
    log = play.git(shop.bare, "show", f"{reworked}:left/log.txt").splitlines()
    assert [line for line in log if line.startswith("rework-1")]
