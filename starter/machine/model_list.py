"""The configured models, with the known facts and whether their keys exist.

It neither reads a key's value nor calls a model. The wording of `models` is also here.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Literal

from pydantic import BaseModel

from starter.configuration.effective_configuration import Configuration
from starter.configuration.model_routes import available_providers, key_names
from starter.console.terminal import one_line, shown
from starter.views.safety_labels import SCRIPTED
from workers.local.model_facts import model_facts
from workers.model_trial import Trial
from workflows.domain.agent.model_values import ModelFacts, Role
from workflows.policy.money.amounts_in_words import money

Key = Literal["set", "missing", "not needed"]


class ModelLine(BaseModel, frozen=True, extra="forbid"):
    """One model of the routes."""

    name: str
    """`provider/model`."""
    roles: tuple[Role, ...]
    facts: ModelFacts
    key: Key
    variables: tuple[str, ...]
    """Variables that may hold that key; none if no key is needed."""


def model_lines(
    configuration: Configuration, environment: Mapping[str, str], at: datetime
) -> tuple[ModelLine, ...]:
    """Return every model of the routes once, in the order of the roles."""
    session, entries = configuration.session, configuration.providers
    roles: dict[str, list[Role]] = {}
    for role in Role:
        for name in getattr(session.routes, role):
            roles.setdefault(name, []).append(role)
    available = available_providers(environment, entries)
    return tuple(
        ModelLine(
            name=name,
            roles=tuple(roles[name]),
            facts=model_facts(name, entries, at, session.catalogue.get(name)),
            key=_key(variables, has_key=name.partition("/")[0] in available),
            variables=variables,
        )
        for name in roles
        for variables in (key_names(name.partition("/")[0], entries),)
    )


def _key(variables: tuple[str, ...], *, has_key: bool) -> Key:
    if not variables:
        return "not needed"
    return "set" if has_key else "missing"


def listed(lines: tuple[ModelLine, ...]) -> Iterator[str]:
    """Return the models for people, a few facts per line."""
    for line in lines:
        facts = line.facts
        yield f"{shown(line.name)}  ({', '.join(line.roles)})"
        sizes = f"window {facts.window_tokens:,}, longest answer {facts.max_output_tokens:,} tokens"
        yield f"    family {shown(facts.family)}, {sizes}"
        yield f"    {_prices(facts)}; {_said_of_key(line)}"


def _prices(facts: ModelFacts) -> str:
    prices = facts.prices
    if prices is None:
        return "price unknown: a session with a cap refuses it"
    cached, out = money(prices.cached_input_usd), money(prices.output_usd)
    return f"per million tokens {money(prices.input_usd)} in, {cached} cached, {out} out"


def _said_of_key(line: ModelLine) -> str:
    if line.facts.provider == "scripted":
        return SCRIPTED
    names = " or ".join(line.variables)
    return (
        "no key is needed"
        if not names
        else f"{names} is {'set' if line.key == 'set' else 'MISSING'}"
    )


def tried(trial: Trial) -> str:
    """Return how a call went, on one line."""
    name = f"{shown(trial.model)}  {trial.latency.total_seconds():.1f} s"
    if trial.error is not None:
        return f"FAILED  {name}  {one_line(trial.error, 300)}"
    usage = trial.usage
    cached = f"cache {usage.cached_input_tokens} of {usage.input_tokens} tokens read"
    cost = "cost unknown" if trial.cost_usd is None else f"cost {money(trial.cost_usd)}"
    tools = "calls tools" if trial.calls_tools else "did NOT call the tool"
    scripted = f"  {SCRIPTED}" if trial.scripted else ""
    written = f", {usage.cache_write_tokens} written" if usage.cache_write_tokens else ""
    return f"ok      {name}  {tools}  {cached}{written}  {cost}{scripted}"
