"""What a session may wait for, as the CLI names it."""

from dataclasses import dataclass

from workflows.domain.ids import ChangesetId, Digest


@dataclass(frozen=True)
class PlanAsk:
    """The plan waits."""


@dataclass(frozen=True)
class ChangesetAsk:
    """A changeset waits, with exactly these commits."""

    id: ChangesetId
    digest: Digest


Ask = PlanAsk | ChangesetAsk
