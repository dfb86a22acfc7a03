"""The cap holds under any interleaving, and each part of the mechanism is needed for it.

A state machine plays agents that spend only from their grants, some of which vanish without a
report, while a person moves the cap. It keeps books of its own: what each agent may have spent.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    rule,
    run_state_machine_as_test,  # pyright: ignore[reportUnknownVariableType]  # hypothesis: untyped
)

from workflows.domain.budget import Accounts, Ask, Grant
from workflows.domain.ids import AgentId
from workflows.policy.money.grants import answer_ask, close_account, committed, set_cap, settle

cents = st.integers(0, 300).map(lambda n: Decimal(n) / 100)
names = st.sampled_from([AgentId(f"t/{n}") for n in range(5)])


class Ledger(RuleBasedStateMachine):
    """Any order of asks, repeats, settles, closes, losses and cap changes."""

    answer: Callable[[Accounts, Ask, datetime], tuple[Accounts, Grant]] = staticmethod(answer_ask)
    close: Callable[[Accounts, AgentId, Decimal | None, datetime], Accounts] = staticmethod(
        close_account
    )

    def __init__(self) -> None:
        super().__init__()
        self.accounts = Accounts(cap_usd=Decimal(2))
        self.now = datetime(2026, 1, 1, tzinfo=UTC)
        self.asks: dict[AgentId, Ask] = {}
        self.granted: dict[AgentId, Decimal] = {}
        self.spent: dict[AgentId, Decimal] = {}
        self.ended_usd = Decimal(0)
        self.generation = 0

    def at_risk(self) -> Decimal:
        """What was spent by all, or may be without another word to the ledger."""
        return self.ended_usd + sum(self.granted.values(), Decimal(0))

    @rule(name=names, least=cents, more=cents)
    def ask(self, name: AgentId, least: Decimal, more: Decimal):
        agent = AgentId(f"{name}/{self.generation}")
        before = self.asks.get(agent)
        self.asks[agent] = Ask(
            agent=agent,
            workflow_id=str(agent),
            number=before.number + 1 if before else 1,
            least_usd=least,
            want_usd=least + more,
            settled_usd=self.spent.get(agent, Decimal(0)),
        )
        self.accounts, grant = self.answer(self.accounts, self.asks[agent], self.now)
        assert grant.usd == 0 or least <= grant.usd <= least + more
        assert (grant.usd < least) is (grant.reason != "")
        self.granted[agent] = self.granted.get(agent, Decimal(0)) + grant.usd
        if grant.usd:
            assert self.at_risk() <= self.accounts.cap_usd, "the cap is passed"

    @rule(name=names, part=st.integers(1, 4), seconds=st.integers(0, 60))
    def spend(self, name: AgentId, part: int, seconds: int):
        agent = AgentId(f"{name}/{self.generation}")
        left = self.granted.get(agent, Decimal(0)) - self.spent.get(agent, Decimal(0))
        self.spent[agent] = self.spent.get(agent, Decimal(0)) + left * part / 4
        self.now += timedelta(seconds=seconds)

    @rule(name=names)
    def report(self, name: AgentId):
        agent = AgentId(f"{name}/{self.generation}")
        spent = self.spent.get(agent, Decimal(0))
        self.accounts = settle(self.accounts, agent, spent, self.now)

    @rule(vanish=st.booleans())
    def end_all(self, vanish: bool):
        """End every agent, with its report or without; the next ones bear new names."""
        for agent in self.asks:
            spent = self.spent.get(agent, Decimal(0))
            self.accounts = self.close(self.accounts, agent, None if vanish else spent, self.now)
            self.ended_usd += self.granted[agent] if vanish else spent
        self.asks, self.granted, self.spent = {}, {}, {}
        self.generation += 1

    @rule(usd=cents)
    def move_cap(self, usd: Decimal):
        self.accounts = set_cap(self.accounts, usd)


class ExactLedger(Ledger):
    """The real one: it knows of every risk, and a repeated ask changes nothing."""

    @rule(name=names, older=st.integers(0, 2))
    def ask_again(self, name: AgentId, older: int):
        agent = AgentId(f"{name}/{self.generation}")
        if ask := self.asks.get(agent):
            again = ask.model_copy(update={"number": max(1, ask.number - older)})
            before = self.accounts
            self.accounts, _ = self.answer(self.accounts, again, self.now)
            assert self.accounts == before

    @invariant()
    def the_ledger_knows_of_every_risk(self):
        assert committed(self.accounts) == self.at_risk()


TestCap = ExactLedger.TestCase  # pyright: ignore[reportUnknownVariableType]  # hypothesis: untyped
TestCap.settings = settings(max_examples=40, stateful_step_count=30)


class ForgetsOthers(Ledger):
    """A ledger that looks at each agent alone, as one does that keeps no books."""

    @staticmethod
    def answer(accounts: Accounts, ask: Ask, at: datetime) -> tuple[Accounts, Grant]:
        own = {agent: held for agent, held in accounts.open.items() if agent == ask.agent}
        alone = accounts.model_copy(update={"open": own, "closed_usd": Decimal(0)})
        answered, grant = answer_ask(alone, ask, at)
        both = {**accounts.open, **answered.open}
        return accounts.model_copy(update={"open": both, "samples": answered.samples}), grant


class TrustsTheSilent(Ledger):
    """A ledger that gives back the whole grant of an agent that vanished."""

    @staticmethod
    def close(
        accounts: Accounts, agent: AgentId, settled_usd: Decimal | None, at: datetime
    ) -> Accounts:
        return close_account(accounts, agent, settled_usd or Decimal(0), at)


@pytest.mark.parametrize("broken", [ForgetsOthers, TrustsTheSilent])
def test_without_this_part_of_the_mechanism_the_cap_is_passed(broken: type[Ledger]):
    quick = settings(max_examples=500, phases=[Phase.generate], derandomize=True, database=None)
    with pytest.raises(AssertionError, match="the cap is passed"):
        run_state_machine_as_test(broken, settings=quick)
