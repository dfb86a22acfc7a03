"""Money: caps, grants, and the ledger's messages. All amounts are USD."""

from datetime import datetime
from decimal import Decimal
from typing import Literal, Self, TypedDict, Unpack

from pydantic import BaseModel, Field

from workflows.domain.evolution import evolve
from workflows.domain.ids import AgentId


class Caps(BaseModel, frozen=True, extra="forbid"):
    """What a session may spend."""

    warn_usd: Decimal = Field(default=Decimal(2), ge=0, allow_inf_nan=False)
    stop_usd: Decimal = Field(default=Decimal(10), ge=0, allow_inf_nan=False)
    burn_usd_per_minute: Decimal = Field(default=Decimal(1), gt=0, allow_inf_nan=False)


class Bill(BaseModel, frozen=True, extra="forbid"):
    """What some work cost, and how well that is known."""

    usd: Decimal = Decimal(0)
    scripted: bool = False
    """A scripted model spoke in it."""
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
    """Counts this agent's asks; an older number than the last one answered is ignored."""
    least_usd: Decimal = Field(ge=0)
    """The quote of the next call: less than this is of no use."""
    want_usd: Decimal = Field(ge=0)
    """A few calls ahead."""
    settled_usd: Decimal = Field(ge=0)
    """What this agent has spent so far, in all."""
    is_ahead: bool = False
    """Asked before it is needed: no is no reason yet to tell anybody that the cap is reached."""


class Grant(BaseModel, frozen=True, extra="forbid"):
    """The answer to one ask."""

    number: int
    usd: Decimal = Field(ge=0)
    """Zero: denied."""
    left_usd: Decimal | None = Field(default=None, ge=0)
    """What the cap has left after it; None: not told."""
    reason: str = ""


class _AccountChanges(TypedDict, total=False):
    settled_usd: Decimal


class AgentAccount(BaseModel, frozen=True, extra="forbid"):
    """One open agent's account: it may have spent up to `granted_usd`."""

    granted_usd: Decimal = Decimal(0)
    settled_usd: Decimal = Decimal(0)
    last_ask: int = 0
    last_usd: Decimal = Decimal(0)
    """The answer to `last_ask`, so that a repeated ask gets the same one and no second grant."""
    last_left_usd: Decimal | None = None
    """What the cap had left after it."""
    last_reason: str = ""

    def evolve(self, **changes: Unpack[_AccountChanges]) -> Self:
        """Return it with some fields replaced."""
        return evolve(self, changes)


class SpendSample(BaseModel, frozen=True, extra="forbid"):
    """Settled spend at a moment, for the burn rate."""

    at: datetime
    usd: Decimal
    """Spent since the sample before."""


class _AccountsChanges(TypedDict, total=False):
    cap_usd: Decimal
    open: dict[AgentId, AgentAccount]
    closed_usd: Decimal
    samples: tuple[SpendSample, ...]


class Accounts(BaseModel, frozen=True, extra="forbid"):
    """The ledger's whole state; small, so that it may continue as new at will."""

    cap_usd: Decimal
    open: dict[AgentId, AgentAccount] = Field(default_factory=dict)
    closed_usd: Decimal = Decimal(0)
    """What closed accounts cost: settled where they reported, granted where they did not."""
    samples: tuple[SpendSample, ...] = ()

    def evolve(self, **changes: Unpack[_AccountsChanges]) -> Self:
        """Return it with some fields replaced."""
        return evolve(self, changes)


class LedgerView(BaseModel, frozen=True, extra="forbid"):
    """What the ledger's query `state` answers."""

    cap_usd: Decimal
    committed_usd: Decimal
    """Closed accounts plus all that is granted: never above the cap at the moment of a grant."""
    settled_usd: Decimal
    burn_usd_per_minute: Decimal


class AccountClosed(BaseModel, frozen=True, extra="forbid"):
    """An agent has ended; its unspent grant comes back."""

    agent: AgentId
    settled_usd: Decimal | None
    """What it spent in all; None: it ended without a report, so its grant counts as spent."""


class KeyRefused(BaseModel, frozen=True, extra="forbid"):
    """A provider refused an agent's key or its credit, and the agent holds until a person acts."""

    agent: AgentId
    text: str
    """What was refused, for a person."""


class CapChanged(BaseModel, frozen=True, extra="forbid"):
    """A person set the session's cap; only what is not yet granted is affected."""

    usd: Decimal = Field(ge=0, allow_inf_nan=False)


LedgerMessage = Ask | AccountClosed | CapChanged | KeyRefused
"""All that a ledger serves, in the order of arrival."""


LedgerEventKind = Literal["warning", "cap_reached", "burn_rate", "key_refused", "closed"]


class LedgerEvent(BaseModel, frozen=True, extra="forbid"):
    """What the ledger tells the session, through its signal `ledger_event`."""

    kind: LedgerEventKind
    settled_usd: Decimal
    cap_usd: Decimal
    """The cap that the ledger knew of: one lower than the session's own is out of date."""
    text: str


class LedgerRequest(BaseModel, frozen=True, extra="forbid"):
    """What starts a ledger, and what its continuation carries."""

    session_workflow: str
    caps: Caps
    messages_per_run: int = Field(default=2_000, gt=0)
    """After so many messages in one run the workflow continues as new."""
    accounts: Accounts | None = None
    is_warned: bool = False
    inbox: tuple[LedgerMessage, ...] = ()
    """Messages that were not served yet; a steady stream must not keep the run from ending."""
    is_finished: bool = False
