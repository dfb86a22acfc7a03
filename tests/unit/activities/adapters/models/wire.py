"""What the wire tests share: requests, playbooks, a simulator and providers that talk to it."""

import json
from collections.abc import Callable, Mapping
from datetime import timedelta
from decimal import Decimal
from typing import Any, cast

import httpx2
from pydantic import SecretStr

from activities.adapters.models.anthropic import AnthropicProvider
from activities.adapters.models.gemini import GeminiProvider
from activities.adapters.models.keys import KeyRing, KeySource
from activities.adapters.models.openai import OpenAIProvider
from activities.adapters.models.openai_chat import ChatProvider
from activities.adapters.models.providers import ProviderRegistry, ProviderSettings
from activities.adapters.models.scripted.playbook import Playbook, parse_playbook
from activities.adapters.models.simulator.simulator_server import Simulator
from activities.adapters.models.transport import Transport
from activities.ports.endpoints import Abilities, ProviderEntry
from activities.ports.model_provider import (
    AuthenticationFailedError,
    ContextOverflowError,
    CreditExhaustedError,
    InvalidRequestError,
    ModelError,
    ModelProvider,
    ModelReply,
    ModelRequest,
    OutcomeUnknownError,
    ProviderUnavailableError,
    RateLimitedError,
    ToolSchema,
)
from tests.waiting import PATIENCE
from workflows.domain.agent.agent_settings import Effort
from workflows.domain.agent.messages import (
    AssistantMessage,
    Message,
    ToolMessage,
    ToolResult,
    UserMessage,
)
from workflows.domain.agent.model_values import ModelFacts, Prices, Provider

KEY = "sk-test-0123456789abcdef"
PRICES = Prices(
    input_usd=Decimal(4),
    cached_input_usd=Decimal("0.4"),
    cache_write_usd=Decimal(8),
    cache_write_5m_usd=Decimal(5),
    output_usd=Decimal(20),
)
TOOL = ToolSchema(
    name="bash",
    description="Run a command.",
    parameters={
        "type": "object",
        "properties": {"command": {"type": "string"}},
        "required": ["command"],
    },
)
OPENING = UserMessage(text="Role: developer\nTask: parse-dates\nAttempt: 1\n\nDo the task.")
USAGE = "{input_tokens: 100, output_tokens: 20}"
PROVIDERS: tuple[Provider, ...] = ("anthropic", "openai", "google", "local")
"""Those built in, and a compatible server."""


ERRORS: tuple[tuple[str, type[ModelError]], ...] = (
    ("rate_limited", RateLimitedError),
    ("unavailable", ProviderUnavailableError),
    ("auth", AuthenticationFailedError),
    ("credit", CreditExhaustedError),
    ("context_overflow", ContextOverflowError),
    ("invalid", InvalidRequestError),
    ("cut", OutcomeUnknownError),
)
"""What a playbook calls a failure, and what becomes of it."""


def facts(provider: Provider, model: str = "simulated-1") -> ModelFacts:
    return ModelFacts(
        provider=provider,
        model=model,
        family=provider,
        window_tokens=200_000,
        max_output_tokens=8_000,
        prices=PRICES,
    )


def ask(
    provider: Provider,
    *messages: Message,
    timeout_s: float = PATIENCE,
    effort: Effort | None = None,
) -> ModelRequest:
    return ModelRequest(
        model=facts(provider),
        system="You are careful.",
        tools=(TOOL,),
        messages=messages or (OPENING,),
        max_output_tokens=4_000,
        effort=effort,
        cache_key="agent-1",
        timeout=timedelta(seconds=timeout_s),
    )


def play(*turns: str, usage: str = USAGE) -> Playbook:
    """A playbook whose developer says `turns` (YAML in flow style), one after the other."""
    listed = "".join(f"      - {turn}\n" for turn in turns)
    head = f"schema: 1\nname: wire\nusage: {usage}\n"
    scene = f"scenes:\n  - role: developer\n    turns:\n{listed}"
    return parse_playbook(head + scene, "wire.yaml")


def answered(reply: ModelReply, *texts: str) -> tuple[AssistantMessage, ToolMessage]:
    """The reply, and results for its calls."""
    pairs = zip(reply.message.tool_calls, texts, strict=True)
    results = [ToolResult(call_id=c.id, name=c.name, text=t) for c, t in pairs]
    return reply.message, ToolMessage(results=tuple(results))


class Wire:
    """A simulator and the providers that talk to it."""

    def __init__(self, simulator: Simulator) -> None:
        self.simulator = simulator
        self.registry = registry(simulator.base_urls)

    def play(self, *turns: str, usage: str = USAGE) -> None:
        self.simulator.play(play(*turns, usage=usage))

    def logged(self, key: str) -> list[object]:
        return [entry[key] for entry in self.simulator.log.entries]

    async def call(
        self, provider: Provider, *messages: Message, timeout_s: float = PATIENCE
    ) -> ModelReply:
        return await self.registry.call(ask(provider, *messages, timeout_s=timeout_s))


def registry(base_urls: Mapping[Provider, str], key: str = KEY) -> ProviderRegistry:
    keys: dict[Provider, KeySource] = {name: SecretStr(key) for name in PROVIDERS}
    return ProviderRegistry(
        ProviderSettings(
            keys=keys, base_urls=base_urls, entries=local(base_urls["openai"]), trust_env=False
        )
    )


def local(base_url: str) -> dict[Provider, ProviderEntry]:
    """Describe the compatible server."""
    abilities = Abilities(reasoning_replay=True, prompt_caching=True)
    return {"local": ProviderEntry(base_url=base_url, key="LOCAL_KEY", abilities=abilities)}


def events(*listed: Any) -> str:
    """A stream of these events, each named by its type where it has one."""
    return "".join(_event(event) for event in listed)


def _event(event: Any) -> str:
    named = isinstance(event, dict) and "type" in event
    name = f"event: {cast('dict[str, Any]', event)['type']}\n" if named else ""
    return f"{name}data: {json.dumps(event)}\n\n"


def streamed(provider: Provider, body: Any) -> str:
    """The shortest stream that holds an answer of any shape."""
    if provider == "openai":
        return events({"type": f"response.{body.get('status')}", "response": body})
    if provider == "google":
        return events(body)
    if provider == "local":
        choices = [choice | {"delta": choice.get("message")} for choice in body["choices"]]
        return events(body | {"choices": choices}) + "data: [DONE]\n\n"
    blocks: list[Any] = body["content"] if isinstance(body.get("content"), list) else []
    begun = [
        {"type": "content_block_start", "index": index, "content_block": block}
        for index, block in enumerate(blocks)
    ]
    ended = [{"type": "content_block_stop", "index": index} for index in range(len(blocks))]
    stop = {"type": "message_delta", "delta": {"stop_reason": body.get("stop_reason")}}
    first = {"type": "message_start", "message": body}
    return events(first, *begun, *ended, stop, {"type": "message_stop"})


Respond = Callable[[httpx2.Request], httpx2.Response]


class Handmade:
    """Providers over their official SDKs whose server is a function."""

    def __init__(self) -> None:
        self._respond: Respond = _nobody
        transport = Transport(wire=httpx2.MockTransport(self._serve))
        keys = KeyRing(dict.fromkeys(PROVIDERS, SecretStr(KEY)))
        self._providers: dict[Provider, ModelProvider] = {
            "anthropic": AnthropicProvider(transport, keys, "http://127.0.0.1:9"),
            "openai": OpenAIProvider(transport, keys, "http://127.0.0.1:9"),
            "google": GeminiProvider(transport, keys, "http://127.0.0.1:9"),
        }
        self._transport, self._keys = transport, keys
        self.declare(Abilities())

    def declare(self, abilities: Abilities) -> None:
        """Say what the compatible server can do."""
        entry = ProviderEntry(base_url="http://127.0.0.1:9", key="LOCAL_KEY", abilities=abilities)
        self._providers["local"] = ChatProvider("local", entry, self._transport, self._keys)

    def _serve(self, request: httpx2.Request) -> httpx2.Response:
        return self._respond(request)

    async def call(
        self,
        provider: Provider,
        respond: Respond,
        *messages: Message,
        effort: Effort | None = None,
    ) -> ModelReply:
        self._respond = respond
        return await self._providers[provider].call(ask(provider, *messages, effort=effort))


def _nobody(_: httpx2.Request) -> httpx2.Response:
    raise AssertionError("no answer was given")
