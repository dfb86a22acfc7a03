"""The stream faults of a simulator that is not ours, where the program `llmock` (PyPI) is at hand.

It is no dependency: it would put a second HTTP stack and another event loop into this environment,
and a plugin of its own into every run of pytest. As a program it needs neither.
"""

import itertools
import shutil
import socket
import subprocess
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import httpx2
import pytest
import pytest_asyncio
from pydantic import SecretStr

from activities.adapters.models.anthropic import AnthropicProvider
from activities.adapters.models.gemini import GeminiProvider
from activities.adapters.models.keys import KeyRing
from activities.adapters.models.openai import OpenAIProvider
from activities.adapters.models.openai_chat import ChatProvider
from activities.adapters.models.transport import Transport
from activities.ports.endpoints import ProviderEntry
from activities.ports.model_provider import ModelProvider, OutcomeUnknownError
from tests.unit.activities.adapters.models.wire import PROVIDERS, ask
from tests.waiting import until
from workflows.domain.agent.model_values import Provider

PROGRAM = shutil.which("llmock")
pytestmark = [
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.skipif(PROGRAM is None, reason="needs the program `llmock` from PyPI on PATH"),
]

FAULTS = ["disconnect", "truncate", "stall", "malformed"]


class Beta(httpx2.AsyncHTTPTransport):
    """Asks for Gemini's older paths, which are all that llmock knows."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        path = request.url.path.replace("/gemini/v1/", "/gemini/v1beta/")
        request.url = request.url.copy_with(path=path)
        return await super().handle_async_request(request)


class Stranger:
    """The other simulator, and our adapters in front of it."""

    def __init__(self, url: str, transport: Transport) -> None:
        self._url = url
        self._client = transport.client
        keys = KeyRing(dict.fromkeys(PROVIDERS, SecretStr("sk-0123456789abcdef")))
        entry = ProviderEntry(base_url=f"{url}/v1", key="LOCAL_KEY")
        self.providers: dict[Provider, ModelProvider] = {
            "anthropic": AnthropicProvider(transport, keys, f"{url}/anthropic"),
            "openai": OpenAIProvider(transport, keys, f"{url}/v1"),
            "google": GeminiProvider(transport, keys, f"{url}/gemini"),
            "local": ChatProvider("local", entry, transport, keys),
        }

    async def play(self, *behaviors: dict[str, Any]) -> None:
        (await self._client.post(f"{self._url}/_llmock/reset")).raise_for_status()
        if behaviors:
            asked = {"behaviors": list(behaviors)}
            (
                await self._client.post(f"{self._url}/_llmock/scenario", json=asked)
            ).raise_for_status()

    async def is_there(self) -> bool:
        try:
            return (await self._client.get(f"{self._url}/_llmock/requests")).is_success
        except httpx2.HTTPError:
            return False


@contextmanager
def serving(port: int) -> Generator[None]:
    command = [str(PROGRAM), "serve", "--port", str(port)]
    none = subprocess.DEVNULL
    with subprocess.Popen(command, stdout=none, stderr=none) as process:
        try:
            yield
        finally:
            process.terminate()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def stranger() -> AsyncGenerator[Stranger]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    transport = Transport(idle=timedelta(seconds=0.5), wire=Beta())
    with serving(port):
        stranger = Stranger(f"http://127.0.0.1:{port}", transport)
        await until(stranger.is_there, "llmock answers")
        yield stranger
        await transport.aclose()


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_whole_stream_is_an_answer(stranger: Stranger, provider: Provider) -> None:
    await stranger.play({"type": "reply", "text": "one two three four"})
    reply = await stranger.providers[provider].call(ask(provider))
    assert reply.message.text == "one two three four"
    assert reply.usage.output_tokens > 0


@pytest.mark.parametrize("after", [0, 1, 2, 3])
@pytest.mark.parametrize(("provider", "fault"), list(itertools.product(PROVIDERS, FAULTS)))
async def test_a_stream_fault_is_no_answer(
    stranger: Stranger, provider: Provider, fault: str, after: int
) -> None:
    spoilt = {"type": "stream_fault", "kind": fault, "after_chunks": after}
    await stranger.play({"type": "reply", "text": "one two three four five six"}, spoilt)
    try:
        reply = await stranger.providers[provider].call(ask(provider))
    except OutcomeUnknownError:
        return
    assert (provider, fault, after) == ("anthropic", "malformed", 2), "only a ping is no loss"
    assert reply.message.text == "one two three four five six"
