"""Reads an answer that passed with Blue Flame's own adapters.

The captured answer is replayed to them from memory: their clients, assemblies and decisions tell
whether it is an answer or which failure, as in any session. A part or event that they do not know
is reported, because a playbook cannot express it either.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from pydantic import SecretStr

from activities.adapters.models.dialects.anthropic_messages import read_reply as read_message
from activities.adapters.models.dialects.chat_completions import read_reply as read_completion
from activities.adapters.models.dialects.gemini_content import read_reply as read_content
from activities.adapters.models.dialects.openai_responses import read_reply as read_response
from activities.adapters.models.keys import KeyRing
from activities.adapters.models.simulator.recording.captured_answer import Captured
from activities.adapters.models.simulator.recording.upstreams import DialectName
from activities.adapters.models.transport import Transport, exchange
from activities.ports.endpoints import Abilities, ProviderEntry
from activities.ports.model_provider import ModelError, ModelProvider, ModelReply, ModelRequest
from activities.text.foreign_json import Json, table, tables, text
from workflows.domain.agent.messages import UserMessage
from workflows.domain.agent.model_values import ModelFacts

if TYPE_CHECKING:
    from httpx2 import Response

_OK: Final = 200
_LIMIT: Final = timedelta(minutes=1)
"""Everything is already in memory."""
_NOWHERE: Final = "http://127.0.0.1:9"
_KEY: Final = "no-key-of-anybody"
_ABILITIES: Final = Abilities(reasoning_replay=True)
"""Requests the provider's own form, so that unreadable parts are seen."""
_WHOLE: Final[Mapping[DialectName, Callable[[ModelRequest, Json], ModelReply]]] = {
    "anthropic": read_message,
    "openai": read_response,
    "chat": lambda request, body: read_completion(request, body, _ABILITIES),
    "gemini": read_content,
}
"""Reads an answer that came at once."""


class Heard(NamedTuple):
    """One parsed answer."""

    outcome: ModelReply | ModelError
    strange: tuple[str, ...] = ()
    """The parts that a playbook cannot express."""
    ran_out: bool = False
    """The captured part was read without error to its end, so its content did not make the caller
    leave."""


class Hearing:
    """Reads one answer after another; belongs to one event loop."""

    def __init__(self) -> None:
        """Import nothing yet."""
        self._transport: Transport | None = None
        self._providers: dict[DialectName, ModelProvider] = {}
        self._captured: Captured | None = None
        self._has_run_out = False

    async def hear(self, dialect: DialectName, model: str, captured: Captured) -> Heard:
        """Read one answer.

        Args:
            dialect: its wire format.
            model: as the request named it.
            captured: the answer.
        """
        request = _request(dialect, model)
        self._captured, self._has_run_out = captured, False
        try:
            if captured.status != _OK or captured.is_streamed:
                reply = await self._provider(dialect).call(request)
            else:
                response = self._again()
                body = await exchange(response.aread, lambda _: None, _LIMIT, "")
                reply = _WHOLE[dialect](request, body)
        except ModelError as failure:
            return Heard(failure, ran_out=self._has_run_out)
        return Heard(reply, tuple(_strange(dialect, reply, captured)))

    async def aclose(self) -> None:
        """Close the clients."""
        if self._transport is not None:
            await self._transport.aclose()

    def _provider(self, dialect: DialectName) -> ModelProvider:
        if dialect not in self._providers:
            self._providers[dialect] = self._make(dialect)
        return self._providers[dialect]

    def _make(self, dialect: DialectName) -> ModelProvider:
        from activities.adapters.models.anthropic import AnthropicProvider
        from activities.adapters.models.gemini import GeminiProvider
        from activities.adapters.models.openai import OpenAIProvider
        from activities.adapters.models.openai_chat import ChatProvider

        wire = self._wire()
        keys = KeyRing(dict.fromkeys(("anthropic", "openai", "google"), SecretStr(_KEY)))
        match dialect:
            case "anthropic":
                return AnthropicProvider(wire, keys, _NOWHERE)
            case "openai":
                return OpenAIProvider(wire, keys, _NOWHERE)
            case "gemini":
                return GeminiProvider(wire, keys, _NOWHERE)
            case "chat":
                entry = ProviderEntry(base_url=_NOWHERE, abilities=_ABILITIES)
                return ChatProvider("chat", entry, wire, keys)

    def _wire(self) -> Transport:
        if self._transport is None:
            from httpx2 import MockTransport

            wire = MockTransport(lambda _: self._again())
            self._transport = Transport(trust_env=False, wire=wire)
        return self._transport

    def _again(self) -> "Response":
        assert self._captured is not None
        return self._captured.response(self._run_out)

    def _run_out(self) -> None:
        self._has_run_out = True


def _request(dialect: DialectName, model: str) -> ModelRequest:
    facts = ModelFacts(
        provider=dialect,
        model=model or "unnamed",
        family=dialect,
        window_tokens=1_000_000,
        max_output_tokens=1_000_000,
        prices=None,
    )
    return ModelRequest(
        model=facts,
        system="",
        tools=(),
        messages=(UserMessage(text="."),),
        max_output_tokens=1_000_000,
        cache_key="recorded",
        timeout=_LIMIT,
    )


# --- what has no word -----------------------------------------------------------------------------

_EVENTS: Final = frozenset(
    {
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
        "ping",
    }
)
_DELTAS: Final = frozenset(
    {"text_delta", "thinking_delta", "signature_delta", "input_json_delta", "citations_delta"}
)
_BLOCKS: Final = frozenset({"text", "thinking", "redacted_thinking", "tool_use"})
_ITEMS: Final = frozenset({"message", "reasoning", "function_call"})
_PARTS: Final = frozenset({"text", "thought", "thoughtSignature", "functionCall"})
_FIELDS: Final = frozenset(
    {
        "role",
        "content",
        "refusal",
        "tool_calls",
        "reasoning",
        "reasoning_content",
        "reasoning_details",
    }
)


def _strange(dialect: DialectName, reply: ModelReply, captured: Captured) -> Iterator[str]:
    """Name what the answer has and the reply lacks, each kind once."""
    raw = reply.message.provider_raw
    payload = None if raw is None else raw.payload
    match dialect:
        case "anthropic":
            found = {text(block.get("type")) for block in tables(payload)} - _BLOCKS
            if captured.is_streamed:
                found |= _strange_events(captured)
        case "openai":
            # The last event holds the whole answer, so no other event can hold more.
            found = {text(item.get("type")) for item in tables(payload)} - _ITEMS
        case "gemini":
            found = {key for part in tables(payload) for key in part} - _PARTS
        case "chat":
            found = set(table(table(payload).get("message"))) - _FIELDS
    yield from sorted(found)


def _strange_events(captured: Captured) -> set[str]:
    from httpx2 import Response

    body = Response(200, headers=captured.headers, content=b"".join(captured.chunks)).text
    told = [line.removeprefix("data:") for line in body.splitlines() if line.startswith("data:")]
    events = [table(json.loads(each)) for each in told]
    kinds = {text(event.get("type")) for event in events} - _EVENTS
    deltas = [e.get("delta") for e in events if e.get("type") == "content_block_delta"]
    return kinds | ({text(table(delta).get("type")) for delta in deltas} - _DELTAS)
