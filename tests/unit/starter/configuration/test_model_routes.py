from itertools import combinations

import pytest

from starter.configuration.model_routes import (
    PLAYBOOK_ROUTES,
    available_providers,
    default_routes,
    family_of,
    no_models,
)
from workflows.domain.agent.model_values import Provider

PROVIDERS: tuple[Provider, ...] = ("anthropic", "openai", "google")


def test_keys_in_the_environment_name_providers():
    environment = {"ANTHROPIC_API_KEY": "x", "OPENAI_API_KEY": " ", "GOOGLE_API_KEY": "y"}
    assert available_providers(environment) == {"anthropic", "google"}
    assert available_providers({"GEMINI_API_KEY": "y"}) == {"google"}
    assert available_providers({}) == frozenset()


@pytest.mark.parametrize("count", [0, 1])
def test_one_family_is_not_enough(count: int):
    for available in combinations(PROVIDERS, count):
        assert default_routes(set(available)) is None


@pytest.mark.parametrize("count", [2, 3])
def test_every_reviewer_is_of_another_family(count: int):
    for available in combinations(PROVIDERS, count):
        routes = default_routes(set(available))
        assert routes is not None
        authors = {family_of(name) for name in routes.developer}
        reviewers = {family_of(name) for name in routes.reviewer}
        assert not authors & reviewers
        assert authors | reviewers == set(available)
        assert {family_of(name) for name in routes.planner} == set(available)


def test_the_models_have_a_known_price():
    from genai_prices import Usage, calc_price

    routes = default_routes(set(PROVIDERS))
    assert routes is not None
    for name in {*routes.planner, *routes.developer, *routes.reviewer}:
        provider, _, model = name.partition("/")
        assert calc_price(Usage(input_tokens=1), model, provider_id=provider).total_price > 0


def test_scripted_voices_are_families_of_their_own():
    assert family_of(PLAYBOOK_ROUTES.developer[0]) != family_of(PLAYBOOK_ROUTES.reviewer[0])


def test_the_message_names_the_three_ways_and_what_is_missing():
    message = str(no_models(("reviewer",), {"openai"}))
    for part in ("reviewer", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "'models:'", "--playbook FILE"):
        assert part in message
    assert "Only OPENAI_API_KEY is set: a reviewer must be of another family" in message
    assert "Only" not in str(no_models(("planner",), set()))
