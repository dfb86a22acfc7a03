"""The hosting service of a `World`: it does what is wanted, or what a test says instead."""

from collections.abc import Callable

from workflows.contracts.hosting_contracts import (
    LookAtPull,
    LookOutcome,
    PublishedPull,
    PublishOutcome,
    PublishPull,
    PullRefused,
)
from workflows.domain.pull_request import PullRequest, PullState


def _nothing(_: PublishPull) -> PublishOutcome | None:
    return None


class HostingWorld:
    """Plays the activities of `hosting_contracts`."""

    def __init__(self) -> None:
        self.published: list[PublishPull] = []
        self.instead: Callable[[PublishPull], PublishOutcome | None] = _nothing
        """What the service answers instead of doing what is wanted; None: it does it."""
        self.looked: list[LookAtPull] = []
        self.seen: Callable[[PullRequest], PullRequest] = lambda pull: pull
        """How the service shows a pull request at a look."""
        self.refusals: list[str] = []
        """Why the next looks are refused, the first one first; an empty text: it is not."""

    async def publish(self, request: PublishPull) -> PublishOutcome:
        self.published.append(request)
        wanted = request.pull
        if (other := self.instead(request)) is not None:
            return other
        open_state = PullState.DRAFT if wanted.is_draft else PullState.OPEN
        known = [each.pull.key for each in self.published]
        return PublishedPull(
            pull=PullRequest(
                key=wanted.key,
                branch=wanted.branch,
                target=wanted.target,
                number=list(dict.fromkeys(known)).index(wanted.key) + 1,
                url=f"https://hosting.example/{wanted.key}",
                state=PullState.CLOSED if wanted.is_closed else open_state,
                pushed=wanted.commit,
            )
        )

    async def look(self, request: LookAtPull) -> LookOutcome:
        self.looked.append(request)
        if self.refusals and (reason := self.refusals.pop(0)):
            return PullRefused(reason=reason)
        return PublishedPull(pull=self.seen(request.pull))
