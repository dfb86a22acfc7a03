"""A workflow that writes down the signals of a ledger, in place of agents and the session."""

from temporalio import workflow

from workflows.domain.budget import Grant, LedgerEvent


@workflow.defn(name="Listener")
class Listener:
    """Purpose: hear `granted` and `ledger_event`; query `grants` and `events`; end at `leave`."""

    def __init__(self) -> None:
        self._grants: list[Grant] = []
        self._events: list[LedgerEvent] = []
        self._has_left = False

    @workflow.run
    async def run(self) -> None:
        """Listen until told to leave."""
        await workflow.wait_condition(lambda: self._has_left)

    @workflow.signal
    def granted(self, grant: Grant) -> None:
        """Write a grant down."""
        self._grants.append(grant)

    @workflow.signal
    def ledger_event(self, event: LedgerEvent) -> None:
        """Write an event down."""
        self._events.append(event)

    @workflow.signal
    def leave(self) -> None:
        """End."""
        self._has_left = True

    @workflow.query
    def grants(self) -> list[Grant]:
        """Return what was granted, in order."""
        return self._grants

    @workflow.query
    def events(self) -> list[LedgerEvent]:
        """Return what the ledger said, in order."""
        return self._events
