"""What is measured of a provider's answer, in every dialect: first content, and what is left."""

import pytest

from activities.ports.measures import measured_by
from tests.unit.activities.adapters.models.wire import OPENING, PROVIDERS, play
from tests.wire.stage import Stage
from workflows.domain.agent.model_values import Provider

pytestmark = pytest.mark.asyncio(loop_scope="session")

SENDS_LIMITS = ("anthropic", "openai")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("provider", PROVIDERS)
async def test_an_answer_is_measured(stage: Stage, provider: Provider) -> None:
    seen: dict[str, tuple[float, dict[str, str]]] = {}

    def take(metric: str, value: float = 1.0, **labels: str) -> None:
        seen[metric] = (value, labels)

    stage.simulator.play(play("{text: Hello.}"))
    with measured_by(take):
        await stage.caller.outcome(provider, OPENING)
    seconds, labels = seen["llm_time_to_first_token_seconds"]
    assert seconds > 0
    assert labels == {"provider": provider}
    if provider in SENDS_LIMITS:
        left, labels = seen["api_rate_limit_remaining"]
        assert 0 < left < 1_000
        assert labels == {"provider": provider, "kind": "requests"}
