"""Each API's adapter against the simulated service that speaks it: one pull request, whatever
happens on the way.

Branches are pushed by real git into a bare repository. What Temporal does is done by `persistent`:
it repeats an attempt that failed with an error that may pass.
"""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Final, get_args

import pytest
import pytest_asyncio
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities.adapters.hosting.hosting_services import HostingServices
from activities.adapters.hosting.simulated_hosting.hosting_simulator import (
    VARIABLE,
    SimulatedHosting,
)
from activities.adapters.hosting.simulated_hosting.simulated_answer import Fault, Operation
from activities.adapters.hosting.simulated_hosting.simulated_pulls import (
    SimulatedCheck,
    SimulatedComment,
    SimulatedPull,
    SimulatedRepository,
    SimulatedReview,
)
from activities.land.hosted_pulls import PullRequestActivities
from activities.ports.land.hosting_entries import Api
from tests.unit.activities.adapters.git.home import Home, plain_git
from workflows.contracts.hosting_contracts import (
    LookAtPull,
    NoPull,
    PublishedPull,
    PublishOutcome,
    PublishPull,
    PullRefused,
)
from workflows.domain.evolution import evolve
from workflows.domain.ids import Commit, SessionId
from workflows.domain.pull_request import PullRequest, PullState, WantedPull
from workflows.policy.delivery.pull_text import marker

pytestmark = pytest.mark.sampled(3)
"""Where a test runs for each API, `make test` takes one."""
SESSION: Final = SessionId("01abc")
BRANCH: Final = "blueflame/01abc"
APIS: Final[tuple[Api, ...]] = get_args(Api)
PASSING: Final[tuple[Fault, ...]] = (
    *("limited", "limited_403", "unavailable", "failed_after"),
    *("lost_before", "lost_after", "garbled", "exists"),
)
LASTING: Final[tuple[Fault, ...]] = ("revoked", "forbidden")
OPERATIONS: Final[tuple[Operation, ...]] = ("find", "create", "change")


@dataclass
class Place:
    """A person's repository, a hosting service, and the activities between them."""

    home: Home
    service: SimulatedHosting
    there: SimulatedRepository
    bare: Path
    hosting: HostingServices
    activities: PullRequestActivities

    def wanted(self, **changes: object) -> PublishPull:
        """Return the wish for one pull request of the repository's head."""
        pull = WantedPull(
            key="session",
            branch=BRANCH,
            commit=Commit(self.home.run("rev-parse", "HEAD")),
            target="main",
            title="Add a currency",
            body=f"All of it.\n\n{marker(SESSION, 'session')}\n",
            is_draft=True,
        )
        return PublishPull(
            session=SESSION,
            repository=str(self.home.path),
            remote="origin",
            pull=evolve(pull, changes),
        )

    async def publish(self, request: PublishPull) -> PublishOutcome:
        """Make one attempt."""
        return await ActivityEnvironment().run(self.activities.publish, request)

    async def persistent(self, request: PublishPull) -> tuple[PublishOutcome, int]:
        """Repeat attempts that fail with what may pass; return how many were made, too."""
        for number in range(1, 6):
            try:
                return await self.publish(request), number
            except ApplicationError as error:
                if error.non_retryable:
                    raise
        raise AssertionError("five attempts failed")

    def pushed(self) -> str:
        """Return the commit of the branch on the remote."""
        return plain_git(self.bare, "rev-parse", f"refs/heads/{BRANCH}")


@pytest_asyncio.fixture(params=APIS)
async def place(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncGenerator[Place]:
    """Yield a repository with its remote, for one API."""
    home = Home(tmp_path)
    home.make({"a.txt": "one\n"})
    bare = tmp_path / "remotes" / "acme" / "shop.git"
    bare.mkdir(parents=True)
    plain_git(bare, "init", "-q", "--bare", "-b", "main")
    home.run("push", "-q", str(bare), "HEAD:refs/heads/main")
    async with SimulatedHosting(request.param) as service:
        home.run("remote", "add", "origin", f"{service.url}/acme/shop.git")
        there = service.add("acme/shop", bare)
        host = service.url.removeprefix("http://")
        entries = {host: service.entry(tmp_path / "remotes", ["acme/*"])}
        hosting = HostingServices(entries, {VARIABLE: service.token})
        activities = PullRequestActivities(home.user, hosting, {})
        yield Place(home, service, there, bare, hosting, activities)


@pytest.mark.parametrize("place", APIS, indirect=True)
async def test_a_draft_is_created_and_becomes_ready(place: Place):
    outcome = await place.publish(place.wanted())
    assert isinstance(outcome, PublishedPull)
    assert (outcome.pull.number, outcome.pull.state) == (1, PullState.DRAFT)
    assert outcome.pull.url.startswith(place.service.url)
    assert place.pushed() == outcome.pull.pushed == place.home.run("rev-parse", "HEAD")
    ready = await place.publish(place.wanted(is_draft=False, title="Add two", body="More"))
    assert isinstance(ready, PublishedPull)
    assert (ready.pull.number, ready.pull.state) == (1, PullState.OPEN)
    (pull,) = place.there.pulls
    assert (pull.title, pull.body, pull.is_draft) == ("Add two", "More", False)
    again = await place.publish(place.wanted())
    assert isinstance(again, PublishedPull)
    assert again.pull.state is PullState.DRAFT


async def test_what_is_as_wanted_is_not_changed(place: Place):
    await place.publish(place.wanted())
    before = len(place.service.log)
    await place.publish(place.wanted())
    assert {each.operation for each in place.service.log[before:]} == {"find"}


@pytest.mark.sampled(15)
@pytest.mark.parametrize("trouble", [*product(OPERATIONS, PASSING)])
async def test_one_pull_request_is_created_whatever_fails(
    place: Place, trouble: tuple[Operation, Fault]
):
    operation, fault = trouble
    place.service.spoil(operation, fault)
    wish = place.wanted()
    await place.persistent(wish)
    outcome, _ = await place.persistent(place.wanted(is_draft=False))
    assert [each.fault for each in place.service.log].count(fault) == 1
    assert isinstance(outcome, PublishedPull)
    assert outcome.pull.state is PullState.OPEN
    assert [(each.number, each.state) for each in place.there.pulls] == [(1, "open")]
    assert place.pushed() == wish.pull.commit


@pytest.mark.sampled(9)
@pytest.mark.parametrize("trouble", [*product(OPERATIONS, LASTING)])
async def test_what_a_person_must_mend_is_told_without_the_token(
    place: Place, trouble: tuple[Operation, Fault]
):
    operation, fault = trouble
    if operation == "change":
        await place.publish(place.wanted())
    place.service.spoil(operation, fault)
    outcome = await place.publish(place.wanted(title="Another"))
    assert isinstance(outcome, PullRefused)
    assert place.service.token not in outcome.reason
    assert {"revoked": "revoked", "forbidden": "needs the right"}[fault] in outcome.reason
    outcome = await place.publish(place.wanted(title="Another"))
    assert isinstance(outcome, PublishedPull)
    assert len(place.there.pulls) == 1


async def test_a_limit_is_waited_for_as_long_as_the_service_says(place: Place):
    place.service.spoil("find", "limited")
    with pytest.raises(ApplicationError) as caught:
        await place.publish(place.wanted())
    assert caught.value.type == "RateLimited"
    assert caught.value.next_retry_delay is not None
    assert caught.value.next_retry_delay.total_seconds() == pytest.approx(0.05)


async def test_an_open_one_of_the_branch_without_the_marker_is_taken_over(place: Place):
    place.home.run("push", "-q", str(place.bare), f"HEAD:refs/heads/{BRANCH}")
    place.there.create(BRANCH, "main", "by hand", "", is_draft=False)
    outcome = await place.publish(place.wanted())
    assert isinstance(outcome, PublishedPull)
    assert [each.title.rpartition(": ")[2] for each in place.there.pulls] == ["Add a currency"]


@pytest.mark.parametrize("state", ["closed", "merged"])
async def test_what_a_person_closed_or_merged_is_neither_opened_nor_pushed_to(
    place: Place, state: str
):
    await place.publish(place.wanted())
    before = place.pushed()
    (pull,) = place.there.pulls
    pull.state = "closed" if state == "closed" else "merged"
    place.home.commit({"b.txt": "two\n"})
    outcome = await place.publish(place.wanted(title="Another"))
    assert isinstance(outcome, PullRefused)
    assert f"pull request #1 was {state} before all work was merged" in outcome.reason
    assert (place.pushed(), pull.title.rpartition(": ")[2]) == (before, "Add a currency")
    assert len(place.there.pulls) == 1


@pytest.mark.parametrize("place", APIS, indirect=True)
async def test_a_merge_is_seen_although_it_deleted_the_branch(place: Place) -> None:
    published = await place.publish(place.wanted())
    assert isinstance(published, PublishedPull)
    (pull,) = place.there.pulls
    pull.state = "merged"
    plain_git(place.bare, "update-ref", "-d", f"refs/heads/{BRANCH}")
    look = LookAtPull(
        session=SESSION, repository=str(place.home.path), remote="origin", pull=published.pull
    )
    seen = await ActivityEnvironment().run(place.activities.look, look)
    again = await place.publish(place.wanted())
    for outcome in (seen, again):
        assert isinstance(outcome, PublishedPull)
        assert (outcome.pull.number, outcome.pull.state) == (1, PullState.MERGED)
    place.home.commit({"b.txt": "two\n"})
    assert isinstance(await place.publish(place.wanted()), PullRefused)
    assert len(place.there.pulls) == 1
    assert not plain_git(place.bare, "for-each-ref", f"refs/heads/{BRANCH}")


async def test_it_is_closed_once_and_never_created_to_be_closed(place: Place):
    assert await place.publish(place.wanted(is_closed=True)) == NoPull()
    assert place.there.pulls == []
    await place.publish(place.wanted())
    place.service.spoil("change", "lost_after")
    outcome, attempts = await place.persistent(place.wanted(is_closed=True))
    assert isinstance(outcome, PublishedPull)
    assert (outcome.pull.state, attempts) == (PullState.CLOSED, 2)
    assert [each.state for each in place.there.pulls] == ["closed"]


async def test_foreign_work_on_the_branch_does_not_keep_it_open(place: Place) -> None:
    await place.publish(place.wanted())
    ours = place.home.run("rev-parse", "HEAD")
    theirs = place.home.commit({"b.txt": "by a reviewer\n"})
    place.home.run("push", "-q", str(place.bare), f"HEAD:refs/heads/{BRANCH}")
    place.home.run("reset", "-q", "--hard", ours)
    place.home.commit({"c.txt": "two\n"})
    outcome = await place.publish(place.wanted(is_closed=True))
    assert isinstance(outcome, PublishedPull)
    assert outcome.pull.state is PullState.CLOSED
    assert [each.state for each in place.there.pulls] == ["closed"]
    assert place.pushed() == theirs


async def test_rework_moves_the_branch_and_foreign_work_is_not_overwritten(place: Place):
    first = await place.publish(place.wanted())
    assert isinstance(first, PublishedPull)
    place.home.run("commit", "-q", "--amend", "--no-verify", "-m", "reworked")
    reworked = place.wanted()
    refused = await place.publish(reworked)
    assert isinstance(refused, PullRefused)
    assert "not overwritten" in refused.reason
    moved = await place.publish(evolve(reworked, {"pushed": first.pull.pushed}))
    assert isinstance(moved, PublishedPull)
    assert place.pushed() == reworked.pull.commit


async def test_only_repositories_that_the_person_names_are_pushed_to(place: Place):
    place.home.run("remote", "set-url", "origin", f"{place.service.url}/other/shop.git")
    refused = await place.publish(place.wanted())
    assert isinstance(refused, PullRefused)
    assert "you do not allow pushes to 'other/shop'" in refused.reason
    assert "repositories: [other/shop]" in refused.reason
    assert place.service.log == []


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("/srv/shop.git", "no hosting service"),
        ("https://elsewhere.example/acme/shop", "you do not allow pushes"),
    ],
)
async def test_a_remote_that_cannot_be_used_is_told(place: Place, url: str, told: str):
    place.home.run("remote", "set-url", "origin", url)
    refused = await place.publish(place.wanted())
    assert isinstance(refused, PullRefused)
    assert told in refused.reason
    place.home.run("remote", "remove", "origin")
    refused = await place.publish(place.wanted())
    assert isinstance(refused, PullRefused)
    assert "no remote 'origin'" in refused.reason


STEPS: Final = ("after-push", "after-create")


@pytest.mark.parametrize("step", STEPS)
async def test_a_death_after_any_step_creates_nothing_twice(place: Place, step: str):
    class DeadError(Exception):
        pass

    def die(name: str) -> None:
        if name == step:
            raise DeadError

    hosting = place.hosting
    mortal = PullRequestActivities(place.home.user, hosting, {}, die)
    with pytest.raises(DeadError):
        await ActivityEnvironment().run(mortal.publish, place.wanted())
    outcome = await place.publish(place.wanted())
    assert isinstance(outcome, PublishedPull)
    assert [each.number for each in place.there.pulls] == [1]
    assert place.pushed() == outcome.pull.pushed


@pytest.mark.parametrize("place", APIS, indirect=True)
async def test_checks_and_reviews_are_read_and_widen_nothing(place: Place):
    published = await place.publish(place.wanted())
    assert isinstance(published, PublishedPull)
    look = LookAtPull(
        session=SESSION, repository=str(place.home.path), remote="origin", pull=published.pull
    )

    async def seen() -> PullRequest:
        outcome = await ActivityEnvironment().run(place.activities.look, look)
        assert isinstance(outcome, PublishedPull)
        return outcome.pull

    assert (await seen()).remarks == ()
    (pull,) = place.there.pulls
    place.there.checks.append(SimulatedCheck("lint", "pending"))
    place.there.checks.append(SimulatedCheck("build", "success"))
    pull.reviews.append(SimulatedReview(1, "bob", "approved", "Fine."))
    assert (await seen()).remarks == ()
    place.there.checks[0].conclusion = "failure"
    place.there.checks[0].text = "2 errors"
    comment = SimulatedComment("src/a.py", 3, "Use Decimal.")
    pull.reviews.append(SimulatedReview(2, "ann", "changes_requested", "Not yet.", (comment,)))
    remarks = (await seen()).remarks
    assert [(each.kind, each.by, each.path, each.line) for each in remarks] == [
        ("check", "lint", "", 0),
        ("review", "ann", "", 0),
        ("review", "ann", "src/a.py", 3),
    ]
    assert [each.text.strip() for each in remarks] == ["2 errors", "Not yet.", "Use Decimal."]
    pull.reviews.append(SimulatedReview(3, "ann", "approved"))
    del pull.reviews[1]
    assert [each.kind for each in (await seen()).remarks] == ["check"]
    pull.state = "merged"
    done = await seen()
    assert (done.state, done.remarks) == (PullState.MERGED, ())


@pytest.mark.parametrize("place", APIS, indirect=True)
async def test_what_is_asked_late_in_a_long_discussion_is_seen(place: Place) -> None:
    published = await place.publish(place.wanted())
    assert isinstance(published, PublishedPull)
    (pull,) = place.there.pulls
    place.there.checks += [SimulatedCheck(f"build-{each}", "success") for each in range(120)]
    place.there.checks.append(SimulatedCheck("lint", "failure"))
    pull.reviews += [SimulatedReview(each, "bob", "commented", "Hm.") for each in range(1, 121)]
    comment = SimulatedComment("src/a.py", 3, "Use Decimal.")
    pull.reviews.append(SimulatedReview(121, "ann", "changes_requested", "Not yet.", (comment,)))
    look = LookAtPull(
        session=SESSION, repository=str(place.home.path), remote="origin", pull=published.pull
    )
    outcome = await ActivityEnvironment().run(place.activities.look, look)
    assert isinstance(outcome, PublishedPull)
    seen = [(each.by, each.text.strip()) for each in outcome.pull.remarks]
    assert seen == [("lint", ""), ("ann", "Not yet."), ("ann", "Use Decimal.")]


@pytest.mark.parametrize("place", APIS, indirect=True)
async def test_a_request_from_a_fork_is_not_taken_for_ours(place: Place) -> None:
    """A stranger's branch has the name of ours, and its text our marker."""
    request = place.wanted()
    stranger = SimulatedPull(7, BRANCH, "main", "Mine", request.pull.body, is_of_fork=True)
    place.there.pulls.append(stranger)
    outcome, _ = await place.persistent(request)
    assert isinstance(outcome, PublishedPull)
    assert outcome.pull.number != stranger.number
    assert (stranger.title, stranger.state) == ("Mine", "open")


async def test_a_remote_that_declines_the_branch_is_asked_once(place: Place) -> None:
    hook = place.bare / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho 'GH013: Repository rule violations' >&2\nexit 1\n")
    hook.chmod(0o755)
    outcome, attempts = await place.persistent(place.wanted())
    assert (isinstance(outcome, PullRefused), attempts) == (True, 1)
    assert isinstance(outcome, PullRefused)
    assert "GH013: Repository rule violations" in outcome.reason
