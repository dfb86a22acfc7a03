"""The activities' port to hosting services: pull requests of one repository.

HostingError
├── HostingUnavailableError   no answer, or a server's error: worth another try
├── HostingLimitedError       worth another try after a wait
├── HostingRefusedError       a person has to act: the token, a right, a missing repository
└── PullExistsError           the pull request is there already; look it up
"""

from datetime import timedelta
from typing import Protocol

from pydantic import BaseModel

from activities.ports.land.hosting_entries import HostingService, RemoteAddress
from workflows.domain.ids import Commit
from workflows.domain.pull_request import PullState, Remark


class HostingError(Exception):
    """Speaking to a hosting service failed; no message holds a token."""


class HostingUnavailableError(HostingError):
    """The service did not answer, or answered with an error of its own."""


class HostingLimitedError(HostingError):
    """Too many requests."""

    def __init__(self, text: str, wait: timedelta) -> None:
        """Args: a text for a person; how long to wait."""
        super().__init__(text)
        self.wait = wait


class HostingRefusedError(HostingError):
    """The service refuses, and would again; the message says what a person can do."""

    def __init__(self, text: str, status: int = 0) -> None:
        """Args: a text for a person; the status of the answer, 0 if there was none."""
        super().__init__(text)
        self.status = status


class PullExistsError(HostingError):
    """There is an open pull request for the branch already."""


class PullText(BaseModel, frozen=True, extra="forbid"):
    """What a pull request is to be."""

    branch: str
    target: str
    title: str
    body: str
    is_draft: bool


class HostedPull(BaseModel, frozen=True, extra="forbid"):
    """A pull request as the service shows it."""

    number: int
    """GitLab's `iid`."""
    url: str
    state: PullState
    target: str
    title: str
    """Without the service's own mark of a draft."""
    body: str
    commit: Commit | None
    """The branch's commit as the service knows it; None: not told."""
    handle: str = ""
    """A second name that some of the service's requests need."""

    def differs(self, text: PullText) -> bool:
        """Whether title, body, target or draft are not as wanted."""
        shown = (self.target, self.title, _plain(self.body))
        wanted = (text.target, text.title, _plain(text.body))
        return shown != wanted or (self.state is PullState.DRAFT) != text.is_draft


def _plain(text: str) -> str:
    """Return a text as services may give it back: other line ends, no blanks at the end."""
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


class PullService(Protocol):
    """The pull requests of one repository on one service.

    Every method raises `HostingError`.
    """

    async def find(self, branch: str) -> tuple[HostedPull, ...]:
        """Return all pull requests that propose a branch, in any state, the newest first."""
        ...

    async def create(self, text: PullText) -> HostedPull:
        """Create a pull request.

        Raises:
            PullExistsError: there is an open one for this branch.
        """
        ...

    async def revise(self, pull: HostedPull, text: PullText) -> HostedPull:
        """Change title, body and target of an open one, and mark it as a draft or as ready."""
        ...

    async def remarks(self, pull: HostedPull) -> tuple[Remark, ...]:
        """Return the red checks on the newest commit, and the changes that reviews ask for."""
        ...

    async def close(self, pull: HostedPull) -> HostedPull:
        """Close an open pull request without merging it."""
        ...


class Hosting(Protocol):
    """The hosting services that the person allows."""

    def allowed(self, address: RemoteAddress) -> HostingService:
        """Return the service that a repository is on.

        Raises:
            HostingRefusedError: the person does not allow pushes there.
        """
        ...

    async def token(self, service: HostingService) -> str:
        """Return the token of a service.

        Raises:
            HostingRefusedError: there is none.
        """
        ...

    def pulls(self, service: HostingService, repository: str) -> PullService:
        """Return the pull requests of `owner/name`."""
        ...
