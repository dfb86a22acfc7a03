"""A conversation that was recorded is the same again when its playbook is played.

Each is led three times with the official clients: through the recorder, against the simulator that
plays the recording, and by the scripted provider. What an agent is told must not differ.
"""

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
import pytest_asyncio

from activities.adapters.models.scripted.playbook import Playbook, parse_playbook
from activities.adapters.models.scripted.scripted_provider import ScriptedProvider
from activities.adapters.models.simulator.recording.recorder import Recorder
from activities.adapters.models.simulator.recording.transcript import Keeping, Transcript
from activities.adapters.models.simulator.recording.upstreams import Upstreams
from activities.adapters.models.simulator.simulator_server import Simulator, base_urls
from activities.ports.model_provider import ModelError, ModelReply, ModelRequest
from tests.effort import pairs
from tests.unit.activities.adapters.models.wire import (
    OPENING,
    PROVIDERS,
    answered,
    ask,
    play,
    registry,
)
from workflows.domain.agent.messages import Message, UserMessage
from workflows.domain.agent.model_values import Provider

pytestmark = pytest.mark.asyncio(loop_scope="session")

CALL = "calls: [{bash: {command: ls}}]"
USAGE = "usage: {input_tokens: 900, cached_input_tokens: 300, output_tokens: 70}"
MOST = 6
"""How often a play may be asked; a failure that never ends is none of a play."""
PLAYS: dict[str, tuple[str, ...]] = {
    "turns": (
        f"{{text: I look., {CALL}, {USAGE}}}",
        "{calls: [{bash: {command: a}}, {write: {path: b, content: \"x\\n\\n  y: 'z'\\n\"}}]}",
        '{text: "Done.\\nAll of it: [x].", stop: end}',
    ),
    "an empty answer": ("{stop: end}", "{text: Here I am.}"),
    "a refusal": ("{text: I will not., stop: refusal}",),
    "an answer that the limit cut": ("{text: So far, stop: truncated}", f"{{{CALL}}}"),
    "malformed arguments": ('{calls: [{bash: \'{"command": "l\'}]}', f"{{{CALL}}}"),
    "a rate limit": (f"{{{CALL}, error: {{kind: rate_limited, retry_after: 7, times: 2}}}}",),
    "an overload": (f"{{{CALL}, error: {{kind: unavailable, retry_after: 3, times: 1}}}}",),
    "used up credit": (f"{{{CALL}, error: {{kind: credit, times: 1}}}}",),
    "a full context": (f"{{{CALL}, error: {{kind: context_overflow, times: 1}}}}",),
    "a wrong request": (f"{{{CALL}, error: {{kind: invalid, times: 1}}}}",),
    "a wrong key": (f"{{{CALL}, error: {{kind: auth, times: 1}}}}",),
    "a cut stream": (f"{{{CALL}, error: {{kind: cut, at: end, times: 1}}}}",),
    "a broken stream": (f"{{{CALL}, error: {{kind: disconnect, at: end, times: 1}}}}",),
    "an error in the stream": (f"{{{CALL}, error: {{kind: unavailable, at: end, times: 1}}}}",),
}
NOT_THERE = {
    # Of Gemini the simulator sends no text and no calls beside a call that is malformed.
    ("google", "malformed arguments"),
}


async def recorded(
    simulator: Simulator, provider: Provider, turns: tuple[str, ...]
) -> tuple[list[object], Playbook]:
    """How a play went the first time, and what was recorded of it."""
    saved: list[str] = []
    transcript = Transcript("recorded", Keeping(saved.append, _unwanted))
    simulator.play(play(*turns))
    upstreams = Upstreams(simulator.base_urls)
    async with Recorder(upstreams, transcript, trust_env=False) as recorder:
        told = await over_http(recorder.url, provider, len(turns))
    return told, parse_playbook(saved[-1], "recorded.yaml")


def _unwanted(message: str) -> None:
    assert "its end was not seen" in message, message


async def over_http(url: str, provider: Provider, turns: int) -> list[object]:
    callers = registry(base_urls(url))
    try:
        return await led(callers.call, provider, turns)
    finally:
        await callers.aclose()


async def led(
    call: Callable[[ModelRequest], Awaitable[ModelReply]], provider: Provider, turns: int
) -> list[object]:
    """Lead a conversation as an agent would, and say what it was told."""
    told: list[object] = []
    messages: tuple[Message, ...] = (OPENING,)
    while turns and len(told) < MOST:
        try:
            reply = await call(ask(provider, *messages))
        except ModelError as failure:
            told.append((type(failure).__name__, getattr(failure, "retry_after", None)))
            continue
        told.append(heard(reply))
        said, results = answered(reply, *("ok" for _ in reply.message.tool_calls))
        messages = (*messages, said, results if results.results else UserMessage(text="Go on."))
        turns -= 1
    assert turns == 0, told
    return told


def heard(reply: ModelReply) -> object:
    calls = [(call.name, call.arguments, call.malformed) for call in reply.message.tool_calls]
    return reply.message.text, calls, reply.stop, reply.usage, reply.cost_usd


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def simulator() -> AsyncIterator[Simulator]:
    async with Simulator(play("{text: unused}")) as simulator:
        yield simulator


CASES = [each for each in pairs(PROVIDERS, [*PLAYS]) if each.values not in NOT_THERE]


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("provider", "name"), CASES)
async def test_a_recording_is_the_conversation_again(
    simulator: Simulator, provider: Provider, name: str
) -> None:
    turns = PLAYS[name]
    first, playbook = await recorded(simulator, provider, turns)
    simulator.play(playbook)
    assert await over_http(simulator.url, provider, len(turns)) == first
    assert await led(ScriptedProvider(playbook).call, provider, len(turns)) == first
