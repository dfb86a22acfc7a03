"""A scripted model is free unless its playbook pretends otherwise; a real one never listens."""

from datetime import UTC, datetime
from decimal import Decimal

from activities.adapters.models.catalogue import resolve
from activities.adapters.models.scripted.playbook import parse_playbook

NOW = datetime(2026, 11, 1, tzinfo=UTC)
PLAYBOOK = """
schema: 1
name: priced
prices: {input_usd: 1, cached_input_usd: 0.1, cache_write_usd: 1.25, output_usd: 5}
scenes: [{role: planner, turns: [{text: hello}]}]
"""


def test_a_scripted_model_is_free():
    prices = resolve("scripted", "author", NOW).prices
    assert prices is not None
    assert {prices.input_usd, prices.cached_input_usd, prices.output_usd} == {Decimal(0)}


def test_a_playbook_sets_what_its_models_pretend_to_cost():
    pretended = parse_playbook(PLAYBOOK, "p.yaml").prices
    assert pretended is not None
    assert pretended.cached_input_usd == Decimal("0.1")
    assert resolve("scripted", "author", NOW, pretended).prices == pretended


def test_a_real_model_keeps_its_own_price():
    pretended = parse_playbook(PLAYBOOK, "p.yaml").prices
    found = resolve("anthropic", "claude-sonnet-4-5", NOW, pretended)
    assert found == resolve("anthropic", "claude-sonnet-4-5", NOW)
    assert found.prices is not None
    assert found.prices != pretended
