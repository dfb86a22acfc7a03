"""A ledger that forgets what it has granted: the mechanism taken out, for a test of the test."""

from temporalio import workflow

from workflows.domain.budget import LedgerMessage, LedgerRequest, LedgerView
from workflows.ledger import SessionLedger
from workflows.policy.money import grants


@workflow.defn(name="SessionLedger")
class GenerousLedger(SessionLedger):
    """Purpose: each ask is answered as if nothing were committed yet."""

    @workflow.init
    def __init__(self, request: LedgerRequest) -> None:
        super().__init__(request)

    @workflow.run
    async def run(self, request: LedgerRequest) -> LedgerView:
        """Serve as the real one does."""
        return await super().run(request)

    async def _serve(self, message: LedgerMessage) -> None:
        cap = self._accounts.cap_usd
        self._accounts = grants.set_cap(self._accounts, cap + grants.committed(self._accounts))
        await super()._serve(message)
        self._accounts = grants.set_cap(self._accounts, cap)
