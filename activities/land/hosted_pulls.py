"""Pull requests on the hosting service of the person's repository, with the person's own token.

Only role `land` does this. Each step looks before it acts, so an attempt that repeats another one,
whose answer was lost, creates nothing twice:

| step                       | looks at                    | and then                              |
|----------------------------|-----------------------------|---------------------------------------|
| push                       | the branch on the remote    | moves it, unless the pull request was |
|                            |                             | merged or closed; a refusal does not  |
|                            |                             | keep one open that is to be closed    |
| create                     | all requests of the branch  | creates one if there is none          |
| "already exists"           | all requests of the branch  | takes the one that is there           |
| title, body, draft, target | what the service shows      | updates what differs                  |
| close                      | the state                   | closes what is open                   |
"""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pydantic import SecretStr
from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.activity_failures import mapped
from activities.ports.git_errors import PushFailedError
from activities.ports.land.hosting_entries import HostingService, RemoteAddress, read_remote
from activities.ports.land.hosting_port import (
    HostedPull,
    Hosting,
    HostingError,
    HostingLimitedError,
    HostingRefusedError,
    PullExistsError,
    PullService,
    PullText,
)
from activities.ports.user_repository import PushRefused, PushRequest, UserRepository
from activities.repository.host_data import no_fail_point
from workflows.contracts.hosting_contracts import (
    LookAtPull,
    LookOutcome,
    NoPull,
    PublishedPull,
    PublishOutcome,
    PublishPull,
    PullRefused,
)
from workflows.domain.ids import SessionId
from workflows.domain.pull_request import PullRequest, PullState, WantedPull
from workflows.errors import FailureType
from workflows.policy.delivery.pull_text import marker

_OPEN: Final = frozenset({PullState.OPEN, PullState.DRAFT})


class PullRequestActivities:
    """Activities `hosting.publish` and `hosting.look`, in role `land`."""

    def __init__(
        self,
        repository: UserRepository,
        hosting: Hosting,
        proxies: Mapping[str, str],
        fail_point: Callable[[str], None] = no_fail_point,
    ) -> None:
        """Take the adapters; how the web is reached; where a crash test ends the process."""
        self._repository = repository
        self._hosting = hosting
        self._proxies = dict(proxies)
        self._fail_point = fail_point

    @activity.defn(name="hosting.publish")
    async def publish(self, request: PublishPull) -> PublishOutcome:
        """Push a branch, and create, update or close its pull request.

        Raises:
            ApplicationError: RateLimited or ProviderUnavailable, both worth another try.
        """
        try:
            with _mapped(), mapped():
                return await self._publish(request)
        except HostingRefusedError as error:
            return PullRefused(reason=str(error)[:1_000])

    @activity.defn(name="hosting.look")
    async def look(self, request: LookAtPull) -> LookOutcome:
        """Look at a pull request: its state, and what checks and reviews ask for.

        Raises:
            ApplicationError: RateLimited or ProviderUnavailable, both worth another try.
        """
        known = request.pull
        try:
            with _mapped(), mapped():
                address = await address_of(
                    self._repository, Path(request.repository), request.remote
                )
                service = self._hosting.allowed(address)
                pulls = self._hosting.pulls(service, address.repository)
                found = await pulls.find(known.branch)
                shown = next((each for each in found if each.number == known.number), None)
                if shown is None:
                    return NoPull()
                remarks = await pulls.remarks(shown) if shown.state in _OPEN else ()
        except HostingRefusedError as error:
            return PullRefused(reason=str(error)[:1_000])
        return PublishedPull(pull=known.evolve(state=shown.state, remarks=remarks))

    async def _publish(self, request: PublishPull) -> PublishOutcome:
        address = await address_of(self._repository, Path(request.repository), request.remote)
        service = self._hosting.allowed(address)
        pulls = self._hosting.pulls(service, address.repository)
        wanted = request.pull
        shown = await self._found(pulls, request.session, wanted)
        if shown is None and wanted.is_closed:
            return NoPull()
        if shown is not None and not wanted.is_closed and _is_behind(shown, wanted):
            raise HostingRefusedError(
                f"pull request #{shown.number} was {shown.state} before all work was merged, and "
                f"is not opened again; propose branch {wanted.branch!r} of your repository yourself"
            )
        if shown is None or shown.state in _OPEN:
            try:
                await self._push(request, service, address)
            except HostingRefusedError:
                if not wanted.is_closed:
                    raise  # what is to be closed needs no newer work
            self._fail_point("after-push")
        if shown is None:
            shown = await self._created(pulls, request.session, wanted)
            self._fail_point("after-create")
        shown = await self._as_wanted(pulls, shown, wanted)
        return PublishedPull(
            pull=PullRequest(
                key=wanted.key,
                branch=wanted.branch,
                target=shown.target,
                number=shown.number,
                url=shown.url,
                state=shown.state,
                pushed=wanted.commit,
            )
        )

    async def _push(
        self, request: PublishPull, service: HostingService, address: RemoteAddress
    ) -> None:
        push = PushRequest(
            path=Path(request.repository),
            url=service.push_url(address.repository),
            branch=request.pull.branch,
            commit=request.pull.commit,
            before=request.pushed,
            token=SecretStr(await self._hosting.token(service)),
            proxies=self._proxies,
        )
        outcome = await self._repository.push(push)
        if isinstance(outcome, PushRefused):
            raise HostingRefusedError(outcome.text)

    async def _found(
        self, pulls: PullService, session: SessionId, wanted: WantedPull
    ) -> HostedPull | None:
        """Return the pull request of this branch: the one with the marker, else an open one."""
        found = await pulls.find(wanted.branch)
        mark = marker(session, wanted.key)
        marked = [each for each in found if mark in each.body]
        opened = [each for each in found if each.state in _OPEN]
        return next(iter((*marked, *opened)), None)

    async def _created(
        self, pulls: PullService, session: SessionId, wanted: WantedPull
    ) -> HostedPull:
        try:
            return await pulls.create(_text(wanted))
        except PullExistsError as error:
            shown = await self._found(pulls, session, wanted)
            if shown is None:
                raise HostingRefusedError(
                    f"the service says that there is a pull request for {wanted.branch!r}, and "
                    f"shows none: {error}"
                ) from error
            return shown

    async def _as_wanted(
        self, pulls: PullService, shown: HostedPull, wanted: WantedPull
    ) -> HostedPull:
        """Update or close what is open; what a person closed or merged stays as it is."""
        if shown.state not in _OPEN:
            return shown
        text = _text(wanted)
        if wanted.is_closed:
            shown = await pulls.close(shown)
            self._fail_point("after-close")
        elif shown.differs(text):
            shown = await pulls.revise(shown, text)
            self._fail_point("after-update")
        return shown


async def address_of(repository: UserRepository, path: Path, remote: str) -> RemoteAddress:
    """Return what a remote of the person's repository names on a hosting service.

    Raises:
        HostingRefusedError: there is no such remote, or it is on none.
    """
    url = await repository.remote_url(path, remote)
    if url is None:
        raise HostingRefusedError(
            f"the repository has no remote {remote!r}: add one with `git remote add`, "
            "or set 'pull_request.remote'"
        )
    address = read_remote(url)
    if address is None:
        raise HostingRefusedError(
            f"remote {remote!r} is on no hosting service that could be told from its "
            "URL; it is written as https://host/owner/name.git or git@host:owner/name.git"
        )
    return address


def _is_behind(shown: HostedPull, wanted: WantedPull) -> bool:
    """Say whether a person closed or merged it without the newest work."""
    return shown.state not in _OPEN and shown.commit != wanted.commit


def _text(wanted: WantedPull) -> PullText:
    return PullText(
        branch=wanted.branch,
        target=wanted.target,
        title=wanted.title,
        body=wanted.body,
        is_draft=wanted.is_draft,
    )


@contextmanager
def _mapped() -> Generator[None]:
    """Turn what may pass into a failure that Temporal retries; a refusal is an outcome."""
    try:
        yield
    except HostingRefusedError:
        raise
    except HostingLimitedError as error:
        kind = FailureType.RATE_LIMITED
        raise ApplicationError(str(error), type=kind, next_retry_delay=error.wait) from error
    except (HostingError, PushFailedError) as error:
        raise ApplicationError(str(error), type=FailureType.PROVIDER_UNAVAILABLE) from error
