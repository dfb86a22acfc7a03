"""What really goes out: every body that the official clients write, with its signatures."""

import json
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, cast

import httpx2
from pydantic import SecretStr

from activities.adapters.models.anthropic import AnthropicProvider
from activities.adapters.models.dialects.gemini_content import FOREIGN_SIGNATURE
from activities.adapters.models.gemini import GeminiProvider
from activities.adapters.models.keys import KeyRing
from activities.adapters.models.openai import OpenAIProvider
from activities.adapters.models.openai_chat import ChatProvider
from activities.adapters.models.transport import Transport
from activities.ports.model_provider import ModelProvider, ModelReply, ModelRequest
from tests.unit.activities.adapters.models.wire import KEY, PROVIDERS, local
from workflows.domain.agent.model_values import Provider

_FIELDS = ("signature", "encrypted_content", "thoughtSignature", "data")


class Recorder:
    """All providers over one transport; implements `ModelProvider` for each."""

    def __init__(self, urls: Mapping[Provider, str], transport: Transport) -> None:
        keys = KeyRing(dict.fromkeys(PROVIDERS, SecretStr(KEY)))
        self._providers: dict[str, ModelProvider] = {
            "anthropic": AnthropicProvider(transport, keys, urls["anthropic"]),
            "openai": OpenAIProvider(transport, keys, urls["openai"]),
            "google": GeminiProvider(transport, keys, urls["google"]),
            "local": ChatProvider("local", local(urls["openai"])["local"], transport, keys),
        }
        self.bodies: list[bytes] = []
        transport.client.event_hooks["request"].append(self._record)

    async def call(self, request: ModelRequest) -> ModelReply:
        return await self._providers[request.model.provider].call(request)

    async def _record(self, request: httpx2.Request) -> None:
        self.bodies.append(await request.aread())

    def signatures(self) -> list[str]:
        """Those in the last body, in order; Google's word for "none of mine" is no signature."""
        return [each for each in found(json.loads(self.bodies[-1])) if each != FOREIGN_SIGNATURE]


@asynccontextmanager
async def recording(urls: Mapping[Provider, str]) -> AsyncGenerator[Recorder]:
    transport = Transport(trust_env=False)
    try:
        yield Recorder(urls, transport)
    finally:
        await transport.aclose()


def found(value: Any) -> Iterator[str]:
    """Every signature anywhere in some JSON."""
    if isinstance(value, list):
        for each in cast("list[Any]", value):
            yield from found(each)
    elif isinstance(value, dict):
        for key, each in cast("dict[str, Any]", value).items():
            if key in _FIELDS:
                yield each
            else:
                yield from found(each)
