"""Money: caps, grants, and the ledger's messages. All amounts are USD."""

from datetime import datetime
from decimal import Decimal
from typing import Literal, Self, TypedDict, Unpack

from pydantic import BaseModel, Field

from workflows.domain.error_count import Counted, CountWindow, Hold, HoldsEnded
from workflows.domain.evolution import evolve
from workflows.domain.ids import AgentId


class Caps(BaseModel, frozen=True, extra="forbid"):
    """What a session may spend."""

    warn_usd: Decimal = Field(default=Decimal(2), ge=0, allow_inf_nan=False)
    stop_usd: Decimal = Field(default=Decimal(10), ge=0, allow_inf_nan=False)
    burn_usd_per_minute: Decimal = Field(default=Decimal(1), gt=0, allow_inf_nan=False)


class Bill(BaseModel, frozen=True, extra="forbid"):
    """The cost of some work, and how exactly it is known."""

    usd: Decimal = Decimal(0)
    scripted: bool = False
    """A scripted model did part of the work."""
    is_estimated: bool = False
    """A part of the cost is an estimate: a provider counted no tokens."""

    def __add__(self, other: "Bill") -> "Bill":
        """Return the bill for both."""
        return Bill(
            usd=self.usd + other.usd,
            scripted=self.scripted or other.scripted,
            is_estimated=self.is_estimated or other.is_estimated,
        )


class Ask(BaseModel, frozen=True, extra="forbid"):
    """An agent asks for money; the answer comes back as the signal `granted`."""

    agent: AgentId
    workflow_id: str
    number: int = Field(ge=1)
    """Counts this agent's asks; a number older than the last answered one is ignored."""
    least_usd: Decimal = Field(ge=0)
    """The quote of the next call; a smaller grant is useless."""
    want_usd: Decimal = Field(ge=0)
    """The quote of a few calls ahead."""
    settled_usd: Decimal = Field(ge=0)
    """What this agent has spent so far, in all."""
    is_ahead: bool = False
    """Asked before the money is needed: a denial is not yet reported as a reached cap."""


class Grant(BaseModel, frozen=True, extra="forbid"):
    """The answer to one ask."""

    number: int
    usd: Decimal = Field(ge=0)
    """Zero: denied."""
    left_usd: Decimal | None = Field(default=None, ge=0)
    """What the cap has left after it; None: not reported."""
    reason: str = ""
    skipped: tuple[str, ...] = ()
    """Models that other agents found unusable: `provider/model`, or `provider/*` for a key."""

    def skipping(self, models: tuple[str, ...]) -> "Grant":
        """Return the same with the models to be skipped."""
        return evolve(self, {"skipped": models})


class _AccountChanges(TypedDict, total=False):
    settled_usd: Decimal


class AgentAccount(BaseModel, frozen=True, extra="forbid"):
    """One open agent's account: it may have spent up to `granted_usd`."""

    granted_usd: Decimal = Decimal(0)
    settled_usd: Decimal = Decimal(0)
    last_ask: int = 0
    last_usd: Decimal = Decimal(0)
    """The answer to `last_ask`, so that a repeated ask gets the same answer and no second grant."""
    last_left_usd: Decimal | None = None
    """What the cap had left after it."""
    last_reason: str = ""

    def evolve(self, **changes: Unpack[_AccountChanges]) -> Self:
        """Return a copy with some fields replaced."""
        return evolve(self, changes)


class SpendSample(BaseModel, frozen=True, extra="forbid"):
    """Settled spend at a moment, for the burn rate."""

    at: datetime
    usd: Decimal
    """Spent since the previous sample."""


class _AccountsChanges(TypedDict, total=False):
    cap_usd: Decimal
    open: dict[AgentId, AgentAccount]
    closed_usd: Decimal
    samples: tuple[SpendSample, ...]


class Accounts(BaseModel, frozen=True, extra="forbid"):
    """The ledger's whole state; small, so that it may continue as new at any time."""

    cap_usd: Decimal
    open: dict[AgentId, AgentAccount] = Field(default_factory=dict)
    closed_usd: Decimal = Decimal(0)
    """The cost of closed accounts: as settled if reported, else as granted."""
    samples: tuple[SpendSample, ...] = ()

    def evolve(self, **changes: Unpack[_AccountsChanges]) -> Self:
        """Return a copy with some fields replaced."""
        return evolve(self, changes)


class LedgerView(BaseModel, frozen=True, extra="forbid"):
    """What the ledger's query `state` answers."""

    cap_usd: Decimal
    committed_usd: Decimal
    """Closed accounts plus all that is granted: never above the cap at the moment of a grant."""
    settled_usd: Decimal
    burn_usd_per_minute: Decimal
    burn_limit_usd_per_minute: Decimal | None = None
    """Above this the session pauses; None: a ledger of an earlier version, which does not say."""
    samples: tuple[SpendSample, ...] | None = None
    """What the burn rate is made of: while nothing happens, a query's clock stands still. None: a
    ledger of an earlier version."""


class AccountClosed(BaseModel, frozen=True, extra="forbid"):
    """An agent has ended; its unspent grant comes back."""

    agent: AgentId
    settled_usd: Decimal | None
    """What the agent spent in all; None: it ended without a report, so its grant counts as
    spent."""


FaultKind = Literal["key", "model", "usage"]
"""What is at fault: a provider's key, account or credit; one model; or the usage it reports."""


class ProviderFault(BaseModel, frozen=True, extra="forbid"):
    """An agent met a fault that concerns every agent which asks the same model or key."""

    agent: AgentId
    kind: FaultKind
    model: str
    """As `provider/model`."""
    text: str
    """What it means, for a person."""
    at: datetime
    holds: bool = False
    """The agent waits until a person acts; else its route has another model."""

    @property
    def provider(self) -> str:
        """The provider's name."""
        return self.model.partition("/")[0]

    def is_like(self, other: "ProviderFault") -> bool:
        """Whether it is the same fault: of one model or, for a key, of one provider."""
        is_same = (
            self.provider == other.provider if self.kind == "key" else self.model == other.model
        )
        return self.kind == other.kind and is_same


class CapChanged(BaseModel, frozen=True, extra="forbid"):
    """A person set the session's cap; only money that is not yet granted is affected."""

    usd: Decimal = Field(ge=0, allow_inf_nan=False)


LedgerMessage = Ask | AccountClosed | CapChanged | ProviderFault | Counted | HoldsEnded
"""All messages that a ledger serves, in the order of arrival."""


LedgerEventKind = Literal[
    "warning", "cap_reached", "burn_rate", "provider_fault", "auto_pause", "closed"
]


class LedgerEvent(BaseModel, frozen=True, extra="forbid"):
    """What the ledger tells the session, through its signal `ledger_event`."""

    kind: LedgerEventKind
    settled_usd: Decimal
    cap_usd: Decimal
    """The cap that the ledger knew; if it is lower than the session's own, the event is out of
    date."""
    text: str
    fault: ProviderFault | None = None
    """Set for `provider_fault`."""
    hold: Hold | None = None
    """Set for `auto_pause`."""


class LedgerRequest(BaseModel, frozen=True, extra="forbid"):
    """What starts a ledger, and what its continuation carries."""

    session_workflow: str
    caps: Caps
    messages_per_run: int = Field(default=2_000, gt=0)
    """The workflow continues as new after this many messages in one run."""
    accounts: Accounts | None = None
    is_warned: bool = False
    faults: tuple[ProviderFault, ...] = ()
    """The known faults of models and keys, at most one of each."""
    inbox: tuple[LedgerMessage, ...] = ()
    """Messages not served yet; a steady stream must not keep the run from ending."""
    auto_pause_percent: int = 0
    """See `SessionConfig`; 0: nothing is counted."""
    windows: tuple[CountWindow, ...] = ()
    """What agents counted, one for each provider and tool."""
    holds_ended_at: datetime | None = None
    """When a person last ended all holds; None: never."""
    is_finished: bool = False
