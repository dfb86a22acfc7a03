"""Issues by each API's adapter, against the simulated service that speaks it."""

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Final, get_args

import httpx2
import pytest
import pytest_asyncio

from activities.adapters.hosting.hosted_issues import HostedIssues, IssueServices
from activities.adapters.hosting.simulated_hosting.hosting_simulator import (
    VARIABLE,
    SimulatedHosting,
)
from activities.adapters.hosting.simulated_hosting.simulated_issues import (
    SimulatedIssue,
    SimulatedTracker,
)
from activities.ports.land.hosting_entries import Api, HostingEntry, RemoteAddress
from activities.ports.land.hosting_port import (
    HostingLimitedError,
    HostingRefusedError,
    HostingUnavailableError,
)
from activities.ports.land.issue_port import read_issue_address

APIS: Final[tuple[Api, ...]] = get_args(Api)
TOKEN: Final = {VARIABLE: "simulated-token"}
NAME: Final = "acme/shop"


@dataclass
class Place:
    """A service with one repository of four issues."""

    service: SimulatedHosting
    tracker: SimulatedTracker
    entry: HostingEntry

    async def issues(self, environment: Mapping[str, str] = TOKEN) -> HostedIssues:
        host = self.service.url.removeprefix("http://")
        services = IssueServices({host: self.entry}, environment)
        return await services.of(RemoteAddress(host, NAME))


@pytest_asyncio.fixture(params=APIS)
async def place(request: pytest.FixtureRequest) -> AsyncGenerator[Place]:
    tracker = SimulatedTracker(
        [
            SimulatedIssue(3, "Later", labels=("agents",)),
            SimulatedIssue(2, "Totals are wrong", "Round once.", ("Agents", "bug")),
            SimulatedIssue(4, "Done", labels=("agents",), is_open=False),
            SimulatedIssue(5, "Other", labels=("bug",)),
        ]
    )
    if request.param != "gitlab":
        tracker.issues.append(SimulatedIssue(6, "A pull", labels=("agents",), is_pull=True))
    async with SimulatedHosting(request.param) as service:
        service.issues.add(NAME, tracker)
        entry = HostingEntry(
            repositories=("*",), api=request.param, url=service.url, token=VARIABLE
        )
        yield Place(service, tracker, entry)


async def test_an_issue_is_read_with_its_labels_and_its_own_address(place: Place) -> None:
    found = await (await place.issues()).issue(2)
    assert (found.title, found.body) == ("Totals are wrong", "Round once.")
    assert (found.labels, found.is_open) == (("Agents", "bug"), True)
    named = read_issue_address(found.url)
    assert named is not None
    assert (named.at.repository, named.number, named.is_issue) == (NAME, 2, True)


async def test_open_issues_with_a_label_come_oldest_first_without_pull_requests(
    place: Place,
) -> None:
    place.tracker.issues += [
        SimulatedIssue(100 + number, "Many", labels=("agents",)) for number in range(60)
    ]
    issues = await place.issues()
    found = [each.number for each in await issues.labelled("agents")]
    # Labels are compared without case only where the service itself does so.
    assert [number for number in found if number != 2] == [3, *range(100, 160)]
    assert await issues.labelled("nothing has this") == ()


async def test_everyone_reads_what_is_public_and_only_the_token_what_is_private(
    place: Place,
) -> None:
    assert (await (await place.issues({})).issue(2)).number == 2
    place.tracker.is_private = True
    with pytest.raises(HostingRefusedError, match=rf"not everyone may read it: set {VARIABLE}"):
        await (await place.issues({})).issue(2)
    assert (await (await place.issues()).issue(2)).number == 2


async def test_what_is_not_there_and_what_is_no_issue_is_refused_in_words(place: Place) -> None:
    issues = await place.issues()
    with pytest.raises(HostingRefusedError, match=r"issue 9 of 'acme/shop'.* does not exist, or"):
        await issues.issue(9)
    place.tracker.issues.append(SimulatedIssue(7, "A pull", is_pull=True))
    if place.entry.api != "gitlab":
        with pytest.raises(HostingRefusedError, match="is a pull request, not an issue"):
            await issues.issue(7)


@pytest.mark.sampled(3)
async def test_faults_that_pass_are_told_apart_from_those_that_do_not(place: Place) -> None:
    issues = await place.issues()
    place.service.spoil("find", "unavailable", "lost_after", "limited", "revoked", "forbidden")
    for error in (
        HostingUnavailableError,
        HostingUnavailableError,
        HostingLimitedError,
        HostingRefusedError,
        HostingRefusedError,
    ):
        with pytest.raises(error) as raised:
            await issues.issue(2)
        assert "simulated-token" not in str(raised.value)
    assert (await issues.issue(2)).number == 2


async def test_a_host_whose_api_is_unknown_is_refused_with_the_line_that_names_it() -> None:
    services = IssueServices({}, {})
    with pytest.raises(HostingRefusedError, match=r"as in `hosting: \{git\.example: \{api: "):
        await services.of(RemoteAddress("git.example", NAME))


@pytest.mark.parametrize(
    ("named", "host", "sent"),
    [
        ({}, "gitlab.com", "Bearer mine"),
        ({"git.acme.example": "gitlab"}, "git.acme.example", "Bearer mine"),
        ({"git.acme.example": "gitlab"}, "gitlab.com", None),
        ({"git.acme.example": "gitlab", "gitlab.com": "gitlab"}, "gitlab.com", "Bearer mine"),
        ({"git.acme.example": "github"}, "gitlab.com", "Bearer mine"),
    ],
)
async def test_the_token_of_a_host_that_a_person_named_is_sent_to_no_other(
    named: Mapping[str, Api], host: str, sent: str | None
) -> None:
    asked: list[str | None] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request.headers.get("authorization"))
        return httpx2.Response(200, json={"iid": 1})

    entries = {each: HostingEntry(repositories=("*",), api=api) for each, api in named.items()}
    environment = {"GITLAB_TOKEN": "mine", "PATH": ""}
    services = IssueServices(entries, environment, httpx2.MockTransport(answer))
    await (await services.of(RemoteAddress(host, NAME))).issue(1)
    assert asked == [sent]


@pytest.mark.parametrize(
    ("url", "named"),
    [
        ("https://github.com/acme/shop/issues/12", ("github.com", NAME, 12, True)),
        ("https://GitHub.com/acme/shop/issues/12?x=1#note", ("github.com", NAME, 12, True)),
        ("https://gitlab.com/a/b/shop/-/issues/7", ("gitlab.com", "a/b/shop", 7, True)),
        ("https://gitlab.com/a/shop/-/work_items/7", ("gitlab.com", "a/shop", 7, True)),
        ("http://127.0.0.1:3000/acme/shop/issues/1", ("127.0.0.1:3000", NAME, 1, True)),
        ("https://github.com/acme/shop/pull/12/files", ("github.com", NAME, 12, False)),
        ("https://gitlab.com/a/shop/-/merge_requests/3", ("gitlab.com", "a/shop", 3, False)),
        ("https://github.com/acme/shop/issues", None),
        ("https://github.com/acme/shop/issues/0", None),
        ("https://github.com/acme/../issues/1", None),
        ("https://github.com:x/acme/shop/issues/1", None),
        ("ftp://github.com/acme/shop/issues/1", None),
        ("https://github.com/a b/shop/issues/1", None),
    ],
)
def test_addresses(url: str, named: tuple[str, str, int, bool] | None) -> None:
    found = read_issue_address(url)
    assert (found and (*found.at, found.number, found.is_issue)) == named
