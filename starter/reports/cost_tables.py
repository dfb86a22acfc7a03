"""What a session cost by task, role and model, beside what its agents were allowed. Pure.

A table's lines and its remainder add up to the session's sum. The remainder is what no agent
reported: a call of unknown outcome counts at its quote, a lost agent at its whole grant.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, NamedTuple

from starter.reports.report_facts import Facts
from starter.sessions.turn_history import task_of
from workers.telemetry.session_record import AgentSeen
from workers.telemetry.traces.span_values import Span
from workflows.contracts.model_contracts import CALL_MODEL

_PLANNING: Final = "(planning)"
_ROLES: Final = {"plan": "planner", "dev": "developer", "review": "reviewer"}


class CostLine(NamedTuple):
    """One line of a table."""

    name: str
    agents: int
    calls: int
    """Answered calls."""
    input_tokens: int
    """Cached ones included."""
    cached_tokens: int
    output_tokens: int
    quote_usd: Decimal | None
    """The most that its agents were allowed; None: for models, or unknown."""
    spent_usd: Decimal

    @property
    def share(self) -> Decimal | None:
        """The part of the quote that was spent, from 0; None without a quote."""
        return self.spent_usd / self.quote_usd if self.quote_usd else None


@dataclass(frozen=True)
class CostTable:
    """A sum, divided in one way."""

    by: str
    lines: tuple[CostLine, ...]
    """The most expensive first, then by their beginning."""
    rest_usd: Decimal
    """What belongs to no line; below zero if calls are newer than the session's sum."""
    total_usd: Decimal


@dataclass(frozen=True)
class _Agent:
    name: str
    seen: AgentSeen | None
    span: Span
    calls: tuple[Span, ...]

    @property
    def spent_usd(self) -> Decimal:
        outcome = None if self.seen is None else self.seen.outcome
        return (self.span.cost_usd or Decimal(0)) if outcome is None else outcome.bill.usd


def by_task(facts: Facts) -> CostTable:
    """Return the cost of each task, of its developers and reviewers; planning has its own line."""
    return _by_agents(facts, "task", lambda name: task_of(name) or _PLANNING)


def by_role(facts: Facts) -> CostTable:
    """Return the cost of each role."""
    return _by_agents(facts, "role", lambda name: _ROLES.get(name.partition(".")[0], name))


def by_model(facts: Facts) -> CostTable:
    """Return the cost of each model, by its answered calls."""
    groups: dict[str, list[Span]] = {}
    for call in _calls(facts):
        groups.setdefault(_model(call), []).append(call)
    lines = (
        _line(name, 0, calls, None, sum((c.cost_usd or Decimal(0) for c in calls), Decimal(0)))
        for name, calls in groups.items()
    )
    return _table(facts, "model", lines)


def _model(call: Span) -> str:
    names = ("gen_ai.provider.name", "gen_ai.request.model")
    return "/".join(str(call.attributes.get(name, "unknown")) for name in names)


def _by_agents(facts: Facts, by: str, group: Callable[[str], str]) -> CostTable:
    groups: dict[str, list[_Agent]] = {}
    for agent in _agents(facts):
        groups.setdefault(group(agent.name), []).append(agent)
    return _table(facts, by, (_sum(name, agents) for name, agents in groups.items()))


def _sum(name: str, agents: list[_Agent]) -> CostLine:
    limits = [each.seen.limits.usd for each in agents if each.seen is not None]
    quote = sum(limits, Decimal(0)) if len(limits) == len(agents) else None
    spent = sum((each.spent_usd for each in agents), Decimal(0))
    calls = [call for each in agents for call in each.calls]
    return _line(name, len(agents), calls, quote, spent)


def _line(
    name: str, agents: int, calls: list[Span], quote: Decimal | None, spent: Decimal
) -> CostLine:
    return CostLine(
        name=name,
        agents=agents,
        calls=len(calls),
        input_tokens=_tokens(calls, "gen_ai.usage.input_tokens"),
        cached_tokens=_tokens(calls, "gen_ai.usage.cache_read.input_tokens"),
        output_tokens=_tokens(calls, "gen_ai.usage.output_tokens"),
        quote_usd=quote,
        spent_usd=spent,
    )


def _tokens(calls: Iterable[Span], name: str) -> int:
    found = (each.attributes.get(name) for each in calls)
    return sum(each for each in found if isinstance(each, int))


def _table(facts: Facts, by: str, lines: Iterable[CostLine]) -> CostTable:
    ordered = tuple(sorted(lines, key=lambda each: -each.spent_usd))
    total = facts.view.spent_usd
    rest = total - sum((each.spent_usd for each in ordered), Decimal(0))
    return CostTable(by=by, lines=ordered, rest_usd=rest, total_usd=total)


def _calls(facts: Facts) -> list[Span]:
    return [
        each
        for each in facts.trace.spans
        if each.name == CALL_MODEL.name and each.cost_usd is not None
    ]


def _agents(facts: Facts) -> list[_Agent]:
    spans = facts.trace.spans
    turns = {each.id: each.parent for each in spans if each.kind == "turn"}
    calls: dict[str | None, list[Span]] = {}
    for call in _calls(facts):
        calls.setdefault(turns.get(call.parent or "", call.parent), []).append(call)
    return [
        _Agent(each.name, facts.record.agents.get(each.name), each, tuple(calls.get(each.id, ())))
        for each in spans
        if each.kind == "workflow" and each.name.partition(".")[0] in _ROLES and "." in each.name
    ]
