"""Landing in the person's repository: the only step with the person's own rights."""

from collections.abc import Callable
from pathlib import Path

from temporalio import activity

from activities.activity_failures import mapped
from activities.ports.blob_store_port import BlobStore
from activities.ports.git_errors import PrerequisiteMissingError
from activities.ports.user_repository import Landed, LandOutcome, LandRequest, UserRepository
from activities.repository.host_data import no_fail_point
from workflows.contracts.land_contracts import (
    DeliverBranch,
    Delivered,
    DeliveryOutcome,
    DeliveryRefused,
)
from workflows.domain.ids import Digest


class LandingActivities:
    """Activity `landing.deliver`, in role `land`."""

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

        If the base was rewritten and collected as garbage since the session began, it is brought
        back as well.
        """
        branch = f"blueflame/{request.session}"
        land = LandRequest(
            path=Path(request.repository),
            bundle=await self._store.get(request.bundle),
            ref=f"refs/heads/{branch}",
            old=request.old,
            new=request.new,
        )
        with mapped():
            outcome = await self._landed(land, request.base)
        self._fail_point("after-land")
        if isinstance(outcome, Landed):
            return Delivered(branch=branch)
        return DeliveryRefused(reason=outcome.text)

    async def _landed(self, request: LandRequest, base: Digest | None) -> LandOutcome:
        try:
            return await self._repository.land(request)
        except PrerequisiteMissingError:
            if base is None:
                raise
        whole = LandRequest(
            path=request.path,
            bundle=request.bundle,
            ref=request.ref,
            old=request.old,
            new=request.new,
            base=await self._store.get(base),
        )
        return await self._repository.land(whole)
