"""The known facts about a model, without asking its provider: sizes, family and prices."""

from collections.abc import Mapping
from datetime import datetime

from activities.adapters.models.catalogue import Catalogue
from activities.ports.endpoints import ProviderEntry
from workflows.domain.agent.model_values import GivenFacts, ModelFacts, Provider


def model_facts(
    name: str,
    entries: Mapping[Provider, ProviderEntry],
    at: datetime,
    given: GivenFacts | None,
) -> ModelFacts:
    """Return the facts of one model of a route.

    Args:
        name: `provider/model`.
        entries: the configured providers.
        at: the time for which prices apply.
        given: what the configuration says about the model; it overrides known facts.

    Raises:
        InvalidRequestError: the provider is unknown.
    """
    provider, _, model = name.partition("/")
    return Catalogue(entries).facts(provider, model, at, given)
