"""Landing in the person's repository: the only step with the person's own rights."""

from collections.abc import Callable
from pathlib import Path

from temporalio import activity

from activities.activity_failures import mapped
from activities.ports.blob_store_port import BlobStore
from activities.ports.git_errors import PrerequisiteMissingError
from activities.ports.user_repository import (
    FastForwardRequest,
    Landed,
    LandRequest,
    Refused,
    UserRepository,
)
from activities.repository.host_data import no_fail_point
from workflows.contracts.land_contracts import (
    DeliverBranch,
    Delivered,
    DeliveryLacking,
    DeliveryOutcome,
    DeliveryRefused,
    ForwardBranch,
    Forwarded,
    ForwardOutcome,
    ForwardRefused,
)
from workflows.domain.ids import SessionId


class LandingActivities:
    """Activities `landing.deliver` and `landing.forward`, in role `land`."""

    def __init__(
        self,
        repository: UserRepository,
        store: BlobStore,
        fail_point: Callable[[str], None] = no_fail_point,
    ) -> None:
        self._repository = repository
        self._store = store
        self._fail_point = fail_point

    @activity.defn(name="landing.deliver")
    async def deliver(self, request: DeliverBranch) -> DeliveryOutcome:
        """Bring the commits over and move the session's branch; no checkout is touched.

        What the bundle builds on may be gone: a base that was rewritten and collected as garbage
        since the session began. The caller then asks again, with the base.
        """
        branch = f"blueflame/{request.session}"
        land = LandRequest(
            path=Path(request.repository),
            bundle=await self._store.get(request.bundle),
            ref=f"refs/heads/{branch}",
            old=request.old,
            new=request.new,
            base=b"" if request.base is None else await self._store.get(request.base),
            commits=request.commits,
            since=request.since,
            source=request.source,
            heads=request.heads,
        )
        with mapped():
            try:
                outcome = await self._repository.land(land)
            except PrerequisiteMissingError:
                return DeliveryLacking()
        self._fail_point("after-land")
        if isinstance(outcome, Landed):
            return Delivered(branch=branch, commits=outcome.commits, notice=outcome.notice)
        return DeliveryRefused(reason=outcome.text)

    @activity.defn(name="landing.forward")
    async def forward(self, request: ForwardBranch) -> ForwardOutcome:
        """Move the person's own branch to the session's, if no checkout shows it."""
        move = FastForwardRequest(
            path=Path(request.repository),
            branch=request.branch,
            old=request.old,
            new=request.new,
            moves_checkout=False,
        )
        with mapped():
            outcome = await self._repository.fast_forward(move)
        self._fail_point("after-forward")
        if isinstance(outcome, Landed):
            return Forwarded()
        return ForwardRefused(reason=_with_command(outcome, request.session))


def _with_command(refused: Refused, session: SessionId) -> str:
    """Return why a branch stays, with the one command that brings the work to it."""
    match refused.reason:
        case "checked_out":
            return refused.text  # it names the checkout, too
        case "moved" | "not_forward":
            return f"{refused.text}, with `git merge blueflame/{session}`"
        case _:
            return f"{refused.text}; then `blueflame fast-forward {session}` moves it"
