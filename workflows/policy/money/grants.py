"""Money: what a call can cost at most, what the ledger grants, and the rate of spending.

One invariant: at each grant, the cost of closed accounts plus all grants of open ones stays within
the cap. Agents spend only from grants, so the cap holds under any concurrency. The grant of an
agent that ended without a report counts as spent. Knows neither models' prices nor the time;
`policy.money.call_cost` computes what a call cost.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final

from pydantic import JsonValue

from workflows.domain.agent.model_values import ModelFacts
from workflows.domain.budget import Accounts, AgentAccount, Ask, Grant, SpendSample
from workflows.domain.ids import AgentId
from workflows.policy.money.amounts_in_words import money

SHARE: Final = Decimal("0.05")
"""The part of the cap that one agent may hold unspent, unless its next call needs more."""
BURN_WINDOW: Final = timedelta(minutes=5)
SAMPLE_EVERY: Final = timedelta(seconds=5)
MAX_USD: Final = 1_000_000
_PER_MILLION: Final = -6
_ZERO: Final = Decimal(0)


def quote(facts: ModelFacts, prompt_tokens: int, max_output_tokens: int) -> Decimal | None:
    """Return the most that one call can cost.

    Args:
        facts: the model.
        prompt_tokens: a safe upper estimate, ≥ 0.
        max_output_tokens: what the request allows, ≥ 0.

    Returns:
        USD: all input at the highest input price plus the whole output. None: prices unknown.

    Raises:
        ValueError: a negative count, which would lower the quote.
    """
    if prompt_tokens < 0 or max_output_tokens < 0:
        raise ValueError(
            f"a quote for {prompt_tokens} and {max_output_tokens} tokens: counts must be ≥ 0"
        )
    prices = facts.prices
    if prices is None:
        return None
    highest = max(prices.input_usd, prices.cache_write_usd, prices.cached_input_usd)
    total = prompt_tokens * highest + max_output_tokens * prices.output_usd
    return total.scaleb(_PER_MILLION)


def committed(accounts: Accounts) -> Decimal:
    """Add up what is or may be spent: closed accounts, and the grants of open ones."""
    return accounts.closed_usd + sum(map(_bound, accounts.open.values()), _ZERO)


def answer_ask(accounts: Accounts, ask: Ask, at: datetime) -> tuple[Accounts, Grant]:
    """Answer one ask for money.

    | the ask                                      | answer                                    |
    |----------------------------------------------|-------------------------------------------|
    | the number answered last                     | the same grant again; nothing changes     |
    | an older number                              | nothing; nothing changes                  |
    | not the first, of no open account            | nothing: the account was closed           |
    | less is left than `least`                    | nothing; its spend is noted               |
    | else                                         | `want`, within what is left and its share |

    Args:
        accounts: the ledger's state.
        ask: of one agent; each `usd` is on top of what it holds.
        at: now.

    Returns:
        The new state, and the grant: a refusal always carries a reason.
    """
    account = accounts.open.get(ask.agent)
    if account is None:
        if ask.number > 1:
            return accounts, Grant(number=ask.number, usd=_ZERO, reason="the account is closed")
        account = AgentAccount()
    if ask.number == account.last_ask:
        return accounts, _grant_of(account)
    if ask.number < account.last_ask:
        reason = f"ask {account.last_ask} was answered already"
        return accounts, Grant(number=ask.number, usd=_ZERO, reason=reason)
    accounts = settle(_with(accounts, ask.agent, account), ask.agent, ask.settled_usd, at)
    account = _answered(accounts, accounts.open[ask.agent], ask)
    return _with(accounts, ask.agent, account), _grant_of(account)


def _answered(accounts: Accounts, account: AgentAccount, ask: Ask) -> AgentAccount:
    """Book the answer to a new ask: within the cap, and ahead at most one agent's share."""
    left = max(_ZERO, accounts.cap_usd - committed(accounts))
    ahead = max(_ZERO, account.granted_usd - account.settled_usd)
    room = max(ask.least_usd, accounts.cap_usd * SHARE - ahead)
    usd = min(max(ask.want_usd, ask.least_usd), room, left)
    reason = ""
    if usd < ask.least_usd:
        usd = _ZERO
        reason = (
            f"{money(left)} of the cap of {money(accounts.cap_usd)} is left;"
            f" the next call may cost {money(ask.least_usd)}"
        )
    return AgentAccount(
        granted_usd=account.granted_usd + usd,
        settled_usd=account.settled_usd,
        last_ask=ask.number,
        last_usd=usd,
        last_left_usd=left - usd,
        last_reason=reason,
    )


def settle(accounts: Accounts, agent: AgentId, settled_usd: Decimal, at: datetime) -> Accounts:
    """Record what an open agent has spent in all; ignore a lower amount or an unknown agent."""
    account = accounts.open.get(agent)
    if account is None or settled_usd <= account.settled_usd:
        return accounts
    samples = _sampled(accounts.samples, settled_usd - account.settled_usd, at)
    account = account.evolve(settled_usd=settled_usd)
    return _with(accounts, agent, account).evolve(samples=samples)


def close_account(
    accounts: Accounts, agent: AgentId, settled_usd: Decimal | None, at: datetime
) -> Accounts:
    """Close an ended agent's account.

    Args:
        accounts: the ledger's state.
        agent: the agent that ended; without an open account nothing changes.
        settled_usd: spent in all; None if it ended without a report.
        at: now.

    Returns:
        The state in which the rest of its grant is free again or, without a report, counts as
        spent.
    """
    if settled_usd is not None:
        accounts = settle(accounts, agent, settled_usd, at)
    account = accounts.open.get(agent)
    if account is None:
        return accounts
    spent = account.settled_usd if settled_usd is not None else _bound(account)
    rest = {name: held for name, held in accounts.open.items() if name != agent}
    return accounts.evolve(open=rest, closed_usd=accounts.closed_usd + spent)


def set_cap(accounts: Accounts, usd: Decimal) -> Accounts:
    """Set the cap; a lower one affects only money that is not yet granted."""
    return accounts.evolve(cap_usd=usd)


def read_usd(value: JsonValue) -> Decimal | str:
    """Parse an amount that a person gave.

    Args:
        value: the JSON value as received.

    Returns:
        USD from 0 to `MAX_USD`, or in words why it is not an amount.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return _no_number(value)
    if value != value:  # noqa: PLR0124 - this is how NaN shows itself
        return "NaN is not an amount: write a number of USD"
    if value < 0:
        return "it is negative: write 0 to allow no spending at all"
    if value > MAX_USD:
        return f"it is above {MAX_USD} USD, or infinite: write a smaller number"
    return abs(Decimal(str(value)))


def _no_number(value: JsonValue) -> str:
    if isinstance(value, bool):
        return f"{str(value).lower()} is not an amount: write a number of USD"
    if isinstance(value, str):
        return f"{value[:40]!r} is text: write the number without quotes"
    return "it is not a number: write an amount in USD, such as 12.5"


def burn_rate(samples: Iterable[SpendSample], at: datetime) -> Decimal:
    """Return the spend in USD per minute, averaged over `BURN_WINDOW` up to now."""
    recent = (s.usd for s in samples if s.at > at - BURN_WINDOW)
    return sum(recent, _ZERO) * 60 / int(BURN_WINDOW.total_seconds())


def settled(accounts: Accounts) -> Decimal:
    """Add up what was spent: closed accounts, and the reported spend of open ones."""
    return accounts.closed_usd + sum((a.settled_usd for a in accounts.open.values()), _ZERO)


def _bound(account: AgentAccount) -> Decimal:
    """Return the most that an open account may have cost."""
    return max(account.granted_usd, account.settled_usd)


def _grant_of(account: AgentAccount) -> Grant:
    return Grant(
        number=account.last_ask,
        usd=account.last_usd,
        left_usd=account.last_left_usd,
        reason=account.last_reason,
    )


def _with(accounts: Accounts, agent: AgentId, account: AgentAccount) -> Accounts:
    return accounts.evolve(open={**accounts.open, agent: account})


def _sampled(
    samples: tuple[SpendSample, ...], usd: Decimal, at: datetime
) -> tuple[SpendSample, ...]:
    """Add spend, at most one sample per `SAMPLE_EVERY`, and drop those outside the window."""
    kept = tuple(sample for sample in samples if sample.at > at - BURN_WINDOW)
    if kept and at - kept[-1].at < SAMPLE_EVERY:
        merged = SpendSample(at=kept[-1].at, usd=kept[-1].usd + usd)
        return (*kept[:-1], merged)
    return (*kept, SpendSample(at=at, usd=usd))
