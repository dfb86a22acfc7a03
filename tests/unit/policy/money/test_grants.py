"""Prices, quotes, amounts, and the answers of the ledger one by one."""

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from tests.unit.policy.examples import PRICES, a_model
from workflows.domain.agent.model_values import Usage
from workflows.domain.budget import Accounts, AgentAccount, Ask, Grant
from workflows.domain.ids import AgentId
from workflows.policy.money.call_cost import cost_usd
from workflows.policy.money.grants import (
    BURN_WINDOW,
    MAX_USD,
    SAMPLE_EVERY,
    answer_ask,
    burn_rate,
    close_account,
    committed,
    quote,
    read_usd,
    set_cap,
    settle,
    settled,
)

NOON = datetime(2026, 11, 27, 12, tzinfo=UTC)
ANN, BOB = AgentId("a/1"), AgentId("b/1")


def usd(amount: str) -> Decimal:
    return Decimal(amount)


def an_ask(
    agent: AgentId, number: int, least: str, want: str | None = None, spent: str = "0"
) -> Ask:
    return Ask(
        agent=agent,
        workflow_id=f"session/s/{agent}",
        number=number,
        least_usd=usd(least),
        want_usd=usd(want or least),
        settled_usd=usd(spent),
    )


def ledger(cap: str) -> Accounts:
    return Accounts(cap_usd=usd(cap))


# --- prices --------------------------------------------------------------------------------------


def test_a_quote_uses_the_most_expensive_input_and_the_whole_output():
    assert quote(a_model("x"), 1_000_000, 100_000) == usd("3.75") + usd("1.5")


def test_unknown_prices_give_no_quote():
    assert quote(a_model("x", prices=None), 1, 1) is None


@pytest.mark.parametrize("counts", [(-1, 0), (0, -1)])
def test_a_negative_count_is_refused(counts: tuple[int, int]):
    with pytest.raises(ValueError, match="must be ≥ 0"):
        quote(a_model("x"), *counts)


tokens = st.integers(0, 2_000_000)


@given(prompt=tokens, cached=tokens, written=tokens, output=tokens)
def test_no_call_costs_more_than_its_quote(prompt: int, cached: int, written: int, output: int):
    usage = Usage(
        input_tokens=prompt + cached + written,
        cached_input_tokens=cached,
        cache_write_tokens=written,
        output_tokens=output,
    )
    quoted = quote(a_model("x"), usage.input_tokens, output)
    assert quoted is not None
    actual = cost_usd(PRICES, usage)
    assert actual is not None
    assert actual <= quoted


# --- amounts that persons give -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [("0", "0"), ("-0.0", "0"), ("12.5", "12.5"), ("0.1", "0.1"), ("1e-3", "0.001"), ("7", "7")],
)
def test_an_amount_is_read_exactly(text: str, expected: str):
    read = read_usd(json.loads(text))
    assert isinstance(read, Decimal)
    assert str(read) in {expected, f"{expected}.0"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("NaN", "NaN"),
        ("Infinity", "infinite"),
        ("1e309", "infinite"),
        ("-Infinity", "negative"),
        ("-1", "negative"),
        (str(MAX_USD + 1), "above"),
        ('"10"', "without quotes"),
        ("true", "true is not an amount"),
        ("false", "false is not an amount"),
        ("null", "not a number"),
        ("[1]", "not a number"),
        ('{"usd": 1}', "not a number"),
    ],
)
def test_an_invalid_amount_is_refused_with_a_reason(text: str, words: str):
    read = read_usd(json.loads(text))
    assert isinstance(read, str)
    assert words in read


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=4,
)


@given(json_values)
def test_whatever_is_read_is_a_finite_amount(value: JsonValue):
    read = read_usd(value)
    assert isinstance(read, str) or (read.is_finite() and 0 <= read <= MAX_USD)


# --- the ledger's answers ------------------------------------------------------------------------


def test_a_first_ask_opens_an_account():
    accounts, grant = answer_ask(ledger("10"), an_ask(ANN, 1, "0.1", "0.3"), NOON)
    assert grant == Grant(number=1, usd=usd("0.3"), left_usd=usd("9.7"))
    assert committed(accounts) == usd("0.3")


def test_a_grant_stops_at_the_agents_share():
    _, grant = answer_ask(ledger("10"), an_ask(ANN, 1, "0.1", "9"), NOON)
    assert grant.usd == usd("0.5")


def test_what_an_agent_holds_unspent_counts_against_its_share():
    accounts, _ = answer_ask(ledger("10"), an_ask(ANN, 1, "0.1", "0.4"), NOON)
    accounts, grant = answer_ask(accounts, an_ask(ANN, 2, "0.05", "9", spent="0.1"), NOON)
    assert grant.usd == usd("0.2")
    assert settled(accounts) == usd("0.1")


def test_a_call_above_the_share_is_granted_if_the_cap_covers_it():
    _, grant = answer_ask(ledger("10"), an_ask(ANN, 1, "2", "6"), NOON)
    assert grant.usd == usd("2")


def test_less_than_the_next_call_is_not_granted():
    accounts, grant = answer_ask(ledger("0.1"), an_ask(ANN, 1, "0.11"), NOON)
    assert grant.usd == 0
    assert "$0.10 of the cap of $0.10 is left; the next call may cost $0.11" in grant.reason
    assert committed(accounts) == 0


def test_the_last_cent_is_granted():
    accounts, grant = answer_ask(ledger("0.1"), an_ask(ANN, 1, "0.1", "5"), NOON)
    assert grant.usd == usd("0.1")
    _, denied = answer_ask(accounts, an_ask(BOB, 1, "0.000001"), NOON)
    assert denied.usd == 0
    assert denied.reason


def test_a_cap_of_zero_grants_nothing_but_free_calls():
    _, grant = answer_ask(ledger("0"), an_ask(ANN, 1, "0.01"), NOON)
    assert (grant.usd, grant.reason != "") == (0, True)
    _, free = answer_ask(ledger("0"), an_ask(ANN, 1, "0"), NOON)
    assert (free.usd, free.reason) == (0, "")


def test_a_repeated_ask_gets_the_same_answer_and_no_second_grant():
    once, first = answer_ask(ledger("10"), an_ask(ANN, 1, "0.1"), NOON)
    twice, second = answer_ask(once, an_ask(ANN, 1, "0.1"), NOON)
    assert second == first
    assert twice == once


def test_a_repeated_denial_keeps_its_reason():
    once, first = answer_ask(ledger("0.01"), an_ask(ANN, 1, "0.1"), NOON)
    assert answer_ask(once, an_ask(ANN, 1, "0.1"), NOON) == (once, first)


def test_an_older_ask_changes_nothing():
    accounts, _ = answer_ask(ledger("10"), an_ask(ANN, 1, "0.1"), NOON)
    accounts, _ = answer_ask(accounts, an_ask(ANN, 2, "0.1"), NOON)
    after, grant = answer_ask(accounts, an_ask(ANN, 1, "0.1", spent="5"), NOON)
    assert after == accounts
    assert (grant.number, grant.usd) == (1, 0)
    assert "ask 2" in grant.reason


def test_an_ask_after_the_end_opens_no_account():
    accounts, _ = answer_ask(ledger("10"), an_ask(ANN, 1, "0.1"), NOON)
    closed = close_account(accounts, ANN, usd("0.05"), NOON)
    after, grant = answer_ask(closed, an_ask(ANN, 2, "0.1"), NOON)
    assert after == closed
    assert (grant.usd, grant.reason) == (0, "the account is closed")


def test_a_close_gives_the_rest_back():
    accounts, _ = answer_ask(ledger("10"), an_ask(ANN, 1, "0.4"), NOON)
    closed = close_account(accounts, ANN, usd("0.15"), NOON)
    assert closed.open == {}
    assert committed(closed) == settled(closed) == usd("0.15")


def test_a_close_without_a_report_counts_the_whole_grant():
    accounts, _ = answer_ask(ledger("10"), an_ask(ANN, 1, "0.4"), NOON)
    closed = close_account(settle(accounts, ANN, usd("0.1"), NOON), ANN, None, NOON)
    assert committed(closed) == settled(closed) == usd("0.4")


def test_a_report_above_the_grant_is_believed():
    accounts, _ = answer_ask(ledger("10"), an_ask(ANN, 1, "0.4"), NOON)
    assert committed(settle(accounts, ANN, usd("0.6"), NOON)) == usd("0.6")
    assert committed(close_account(accounts, ANN, usd("0.6"), NOON)) == usd("0.6")


def test_a_second_close_changes_nothing():
    accounts, _ = answer_ask(ledger("10"), an_ask(ANN, 1, "0.4"), NOON)
    closed = close_account(accounts, ANN, usd("0.1"), NOON)
    assert close_account(closed, ANN, usd("0.1"), NOON) == closed
    assert close_account(closed, ANN, None, NOON) == closed


def test_settled_spend_never_decreases():
    accounts, _ = answer_ask(ledger("10"), an_ask(ANN, 1, "0.4"), NOON)
    accounts = settle(accounts, ANN, usd("0.2"), NOON)
    assert settle(accounts, ANN, usd("0.1"), NOON) == accounts
    assert settled(close_account(accounts, ANN, usd("0.1"), NOON)) == usd("0.2")
    assert settle(accounts, BOB, usd("1"), NOON) == accounts


def test_a_lower_cap_takes_nothing_back_and_grants_nothing_more():
    accounts, _ = answer_ask(ledger("10"), an_ask(ANN, 1, "0.4"), NOON)
    lowered = set_cap(accounts, usd("0.1"))
    assert lowered.open == {
        ANN: AgentAccount(
            granted_usd=usd("0.4"), last_ask=1, last_usd=usd("0.4"), last_left_usd=usd("9.6")
        )
    }
    _, grant = answer_ask(lowered, an_ask(BOB, 1, "0.01"), NOON)
    assert grant.usd == 0
    assert "$0.00 of the cap of $0.10" in grant.reason


# --- how fast money goes -------------------------------------------------------------------------


def test_the_burn_rate_is_averaged_over_the_window():
    accounts, _ = answer_ask(ledger("10"), an_ask(ANN, 1, "0.4"), NOON)
    accounts = settle(accounts, ANN, usd("1"), NOON)
    accounts = settle(accounts, ANN, usd("2.5"), NOON + timedelta(minutes=1))
    assert burn_rate(accounts.samples, NOON + timedelta(minutes=1)) == usd("0.5")
    assert burn_rate(accounts.samples, NOON + BURN_WINDOW) == usd("0.3")
    assert burn_rate(accounts.samples, NOON + 2 * BURN_WINDOW) == 0
    assert burn_rate((), NOON) == 0


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(1, 9)), max_size=300))
def test_samples_stay_few_and_lose_nothing_recent(steps: list[tuple[int, int]]):
    accounts, _ = answer_ask(ledger("10"), an_ask(ANN, 1, "0.4"), NOON)
    at, total, spends = NOON, Decimal(0), list[tuple[datetime, int]]()
    for seconds, spent in steps:
        at += timedelta(seconds=seconds)
        total += spent
        spends.append((at, spent))
        accounts = settle(accounts, ANN, total, at)
    assert len(accounts.samples) <= BURN_WINDOW / SAMPLE_EVERY + 1
    surely = sum(spent for when, spent in spends if when > at - BURN_WINDOW + SAMPLE_EVERY)
    at_most = sum(spent for when, spent in spends if when > at - BURN_WINDOW)
    minutes = BURN_WINDOW // timedelta(minutes=1)
    assert surely <= burn_rate(accounts.samples, at) * minutes <= at_most
