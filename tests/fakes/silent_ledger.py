"""A ledger that keeps its last word until it is released, so that a session's end can be seen."""

from temporalio import workflow

from workflows.domain.budget import LedgerRequest, LedgerView
from workflows.ledger import SessionLedger


@workflow.defn(name="SessionLedger")
class SilentLedger(SessionLedger):
    """Purpose: `finish` alone ends nothing; `release` does."""

    @workflow.init
    def __init__(self, request: LedgerRequest) -> None:
        super().__init__(request)

    @workflow.run
    async def run(self, request: LedgerRequest) -> LedgerView:
        """Serve as the real one does."""
        return await super().run(request)

    @workflow.signal
    def finish(self) -> None:
        """Keep silent."""

    @workflow.signal
    def release(self) -> None:
        """Say the last word now."""
        self._is_finished = True
