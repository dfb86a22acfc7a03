"""What each dialect sends of a request's effort."""

from typing import Any

import pytest

from activities.adapters.models.dialects import (
    anthropic_messages,
    chat_completions,
    gemini_content,
    openai_responses,
)
from activities.ports.endpoints import Abilities
from activities.ports.model_provider import ModelRequest
from tests.unit.activities.adapters.models.wire import ask
from workflows.domain.agent.agent_settings import Effort


def asked(provider: str, effort: Effort | None, model: str = "simulated-1") -> ModelRequest:
    request = ask(provider)
    facts = request.model.model_copy(update={"model": model})
    return request.model_copy(update={"effort": effort, "model": facts})


def sent(provider: str, effort: Effort | None) -> dict[str, Any]:
    request = asked(provider, effort)
    match provider:
        case "anthropic":
            return anthropic_messages.wire_request(request)
        case "openai":
            return openai_responses.wire_request(request)
        case "google":
            return gemini_content.wire_request(request)
        case _:
            return chat_completions.wire_request(request, Abilities())


@pytest.mark.parametrize("effort", ["low", "medium", "high", "xhigh"])
def test_each_provider_has_its_own_name_for_the_effort(effort: Effort):
    assert sent("anthropic", effort)["output_config"] == {"effort": effort}
    assert sent("openai", effort)["reasoning"] == {"effort": effort}
    thinking = sent("google", effort)["generationConfig"]["thinkingConfig"]
    assert thinking == {"thinkingLevel": effort.upper()}
    assert sent("local", effort)["reasoning_effort"] == effort


def test_nothing_is_sent_where_no_effort_is_set():
    assert "output_config" not in sent("anthropic", None)
    assert "reasoning" not in sent("openai", None)
    assert set(sent("google", None)["generationConfig"]) == {"maxOutputTokens"}
    assert "reasoning_effort" not in sent("local", None)


def test_the_agents_effort_goes_before_the_servers():
    declared = Abilities(reasoning_effort="minimal")
    chosen = chat_completions.wire_request(asked("local", "high"), declared)
    assert chosen["reasoning_effort"] == "high"
    left = chat_completions.wire_request(asked("local", None), declared)
    assert left["reasoning_effort"] == "minimal"


def test_models_without_reasoning_are_not_asked_for_any():
    body = openai_responses.wire_request(asked("openai", "high", "gpt-4o"))
    assert "reasoning" not in body
