"""The three providers, each over its official SDK, against the simulator or a handmade answer."""

from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from decimal import Decimal

import pytest
from pydantic import SecretStr

from activities.adapters.models.providers import ProviderRegistry, ProviderSettings
from activities.adapters.models.simulator.server import Simulator
from activities.playbook import Playbook, parse_playbook
from activities.ports.models import ModelReply, ModelRequest, ToolSchema
from workflows.domain.messages import (
    AssistantMessage,
    Message,
    ToolMessage,
    ToolResult,
    UserMessage,
)
from workflows.domain.models import ModelFacts, Prices, Provider

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
PROVIDERS: tuple[Provider, ...] = ("anthropic", "openai", "google")


def facts(provider: Provider, model: str = "simulated-1") -> ModelFacts:
    return ModelFacts(
        provider=provider,
        model=model,
        family=provider,
        window_tokens=200_000,
        max_output_tokens=8_000,
        prices=PRICES,
    )


def ask(provider: Provider, *messages: Message, timeout_s: float = 30) -> ModelRequest:
    return ModelRequest(
        model=facts(provider),
        system="You are careful.",
        tools=(TOOL,),
        messages=messages or (OPENING,),
        max_output_tokens=4_000,
        cache_key="agent-1",
        timeout=timedelta(seconds=timeout_s),
    )


def play(*turns: str, usage: str = "{input_tokens: 100, output_tokens: 20}") -> Playbook:
    """A playbook whose developer says `turns` (YAML in flow style), one after the other."""
    listed = "".join(f"      - {turn}\n" for turn in turns)
    return parse_playbook(
        f"schema: 1\nname: wire\nusage: {usage}\nscenes:\n  - role: developer\n    turns:\n{listed}",
        "wire.yaml",
    )


def answered(reply: ModelReply, *texts: str) -> tuple[AssistantMessage, ToolMessage]:
    """The reply, and results for its calls."""
    pairs = zip(reply.message.tool_calls, texts, strict=True)
    results = [ToolResult(call_id=c.id, name=c.name, text=t) for c, t in pairs]
    return reply.message, ToolMessage(results=tuple(results))


@pytest.fixture(params=PROVIDERS)
def provider(request: pytest.FixtureRequest) -> Provider:
    name: Provider = request.param
    return name


class Wire:
    """A simulator and the providers that talk to it."""

    def __init__(self, simulator: Simulator, key: str = KEY) -> None:
        self.simulator = simulator
        self.registry = ProviderRegistry(
            ProviderSettings(
                keys={name: SecretStr(key) for name in PROVIDERS},
                base_urls=simulator.base_urls,
                trust_env=False,
            )
        )

    async def call(
        self, provider: Provider, *messages: Message, timeout_s: float = 30
    ) -> ModelReply:
        return await self.registry.call(ask(provider, *messages, timeout_s=timeout_s))


@pytest.fixture
async def start() -> AsyncIterator[Callable[..., object]]:
    """Start simulators; all are stopped at the end."""
    from contextlib import AsyncExitStack

    async with AsyncExitStack() as stack:

        async def begin(playbook: Playbook, key: str = KEY) -> Wire:
            wire = Wire(await stack.enter_async_context(Simulator(playbook)), key)
            stack.push_async_callback(wire.registry.aclose)
            return wire

        yield begin
