"""Any server with OpenAI's Chat Completions interface, over the official SDK.

Ollama, vLLM, llama.cpp, gateways: address and abilities are configured, not guessed. It asks the
SDK for raw events, because servers differ in what they omit and add; a server that does not stream
may answer at once.
"""

from typing import TYPE_CHECKING

from activities.adapters.models.dialects.chat_completions import failure, read_reply, wire_request
from activities.adapters.models.dialects.chat_stream import ChatAssembly, announced
from activities.adapters.models.error_classes import Reported
from activities.adapters.models.keys import KeyRing
from activities.adapters.models.openai import OpenAISdkProvider, raw_events
from activities.adapters.models.sdk_provider import raw_body
from activities.adapters.models.streams import whole
from activities.adapters.models.transport import Transport
from activities.ports.endpoints import ProviderEntry
from activities.ports.model_provider import ModelReply, ModelRequest
from activities.text.foreign_json import Json
from workflows.domain.agent.model_values import Provider

if TYPE_CHECKING:
    from openai import AsyncOpenAI


class ChatProvider(OpenAISdkProvider):
    """Calls one compatible server; implements `activities.ports.model_provider.ModelProvider`."""

    def __init__(
        self, name: Provider, entry: ProviderEntry, transport: Transport, keys: KeyRing
    ) -> None:
        """Args: its name; its configuration; the shared client; the keys."""
        super().__init__(name, transport, keys, entry.base_url or "")
        self._abilities = entry.abilities
        self._wants_key = entry.key is not None

    async def _key(self) -> str:
        return await super()._key() if self._wants_key else ""

    async def _send(self, client: "AsyncOpenAI", request: ModelRequest) -> bytes | Json:
        body, timeout = wire_request(request, self._abilities), request.timeout.total_seconds()
        if not self._abilities.streaming:
            create = client.chat.completions.with_raw_response.create
            return await raw_body(create, body, timeout)
        assembly = ChatAssembly()
        create = client.chat.completions.with_streaming_response.create
        arguments: Json = body | {"stream_options": {"include_usage": True}}
        async with self._opened(create, arguments, request.timeout) as raw:
            if "json" in raw.headers.get("content-type", ""):
                return await raw.read()  # it does not stream, or reports a failure
            events = announced(await raw_events(raw), assembly)
            return await whole(events, assembly, self._classify)

    def _event_failure(self, error: Json) -> Reported:
        return failure(self._name, error)

    def _read(self, request: ModelRequest, body: Json) -> ModelReply:
        return read_reply(request, body, self._abilities)
