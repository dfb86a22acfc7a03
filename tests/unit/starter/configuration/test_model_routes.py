from itertools import combinations

import pytest

from starter.configuration.model_routes import (
    available_providers,
    default_routes,
    no_models,
)
from workflows.domain.agent.model_values import Provider

PROVIDERS: tuple[Provider, ...] = ("anthropic", "openai", "google")


def test_keys_in_the_environment_name_providers():
    environment = {"ANTHROPIC_API_KEY": "x", "OPENAI_API_KEY": " ", "GOOGLE_API_KEY": "y"}
    assert available_providers(environment) == {"anthropic", "google"}
    assert available_providers({"GEMINI_API_KEY": "y"}) == {"google"}
    assert available_providers({}) == frozenset()


def test_without_a_provider_there_are_no_routes():
    assert default_routes(frozenset()) is None


@pytest.mark.parametrize("provider", PROVIDERS)
def test_one_provider_fills_every_role(provider: Provider):
    routes = default_routes({provider})
    assert routes is not None
    models = (*routes.planner, *routes.developer, *routes.reviewer)
    assert {name.partition("/")[0] for name in models} == {provider}


@pytest.mark.parametrize("count", [2, 3])
def test_every_reviewer_is_of_another_family(count: int):
    for available in combinations(PROVIDERS, count):
        routes = default_routes(set(available))
        assert routes is not None
        authors = {name.partition("/")[0] for name in routes.developer}
        reviewers = {name.partition("/")[0] for name in routes.reviewer}
        assert not authors & reviewers
        assert authors | reviewers == set(available)
        assert {name.partition("/")[0] for name in routes.planner} == set(available)


def test_the_models_have_a_known_price():
    from genai_prices import Usage, calc_price

    routes = default_routes(set(PROVIDERS))
    assert routes is not None
    for name in {*routes.planner, *routes.developer, *routes.reviewer}:
        provider, _, model = name.partition("/")
        assert calc_price(Usage(input_tokens=1), model, provider_id=provider).total_price > 0


def test_the_message_names_the_three_ways_and_what_is_missing():
    message = str(no_models(("reviewer",)))
    for part in ("reviewer", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "'models:'", "--playbook FILE"):
        assert part in message


@pytest.mark.parametrize(
    ("variable", "found"),
    [
        ("GOOGLE_API_KEY", {"google"}),
        ("GEMINI_API_KEY_FILE", {"google"}),
        ("GEMINI_API_KEY_COMMAND", {"google"}),
        ("GOOGLE_API_KEY_FILE", set[str]()),
        ("GOOGLE_API_KEY_COMMAND", set[str]()),
    ],
)
def test_only_a_variable_that_workers_read_counts_as_a_key(variable: str, found: set[str]):
    assert available_providers({variable: "x"}) == found
