"""Landing in the person's repository: the only step with the person's own rights."""

from collections.abc import Callable
from pathlib import Path

from temporalio import activity

from activities.activity_failures import mapped
from activities.ports.blob_store_port import BlobStore
from activities.ports.git_errors import PrerequisiteMissingError
from activities.ports.user_repository import Landed, LandRequest, UserRepository
from activities.repository.host_data import no_fail_point
from workflows.contracts.land_contracts import (
    DeliverBranch,
    Delivered,
    DeliveryLacking,
    DeliveryOutcome,
    DeliveryRefused,
)


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
        )
        with mapped():
            try:
                outcome = await self._repository.land(land)
            except PrerequisiteMissingError:
                return DeliveryLacking()
        self._fail_point("after-land")
        if isinstance(outcome, Landed):
            return Delivered(branch=branch)
        return DeliveryRefused(reason=outcome.text)
