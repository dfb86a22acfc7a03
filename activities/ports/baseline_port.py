"""The gates' results on bases, kept from one session to the next."""

from typing import Protocol

from workflows.domain.gate import GateReport


class BaselineStore(Protocol):
    """Reports under a key that names everything they depend on, for a limited time."""

    def find(self, key: str) -> GateReport | None:
        """Return the report under a key; None if there is none, or it is too old."""
        ...

    def keep(self, key: str, report: GateReport) -> None:
        """Keep a report; one that cannot be written is not kept."""
        ...
