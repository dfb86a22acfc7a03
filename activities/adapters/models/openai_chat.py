"""Any server that speaks OpenAI's Chat Completions, over the official SDK.

Ollama, vLLM, llama.cpp, gateways: address and abilities are configuration, not guessed. It asks the
SDK for a raw stream, because servers differ in what they leave out and add, and the SDK's own
stream does not tell its end from a cut. A server that answers in one JSON object is read too.
"""

from typing import TYPE_CHECKING, Any, Final, cast

from activities.adapters.models.chat_completions import read_reply, wire_request
from activities.adapters.models.chat_stream import ChunkAssembly, chunks
from activities.adapters.models.keys import KeyRing
from activities.adapters.models.openai import OpenAISdkProvider
from activities.adapters.models.streams import whole
from activities.adapters.models.transport import Transport
from activities.adapters.models.wire import Json
from activities.ports.endpoints import ProviderEntry
from activities.ports.models import ModelReply, ModelRequest
from workflows.domain.models import Provider

if TYPE_CHECKING:
    from openai import AsyncOpenAI

STREAMED: Final[Json] = {"stream": True, "stream_options": {"include_usage": True}}


class ChatProvider(OpenAISdkProvider):
    """Calls one compatible server; implements `activities.ports.models.ModelProvider`."""

    def __init__(
        self, name: Provider, entry: ProviderEntry, transport: Transport, keys: KeyRing
    ) -> None:
        """Args: its name; what is configured of it; the shared client; the keys."""
        super().__init__(name, transport, keys, entry.base_url or "")
        self._abilities = entry.abilities
        self._wants_key = entry.key is not None

    async def _key(self) -> str:
        return await super()._key() if self._wants_key else ""

    async def _send(self, client: "AsyncOpenAI", request: ModelRequest) -> bytes | Json:
        create = cast("Any", client.chat.completions.with_streaming_response.create)
        body = wire_request(request, self._abilities) | STREAMED
        async with create(**body, timeout=self._transport.patience(request.timeout)) as raw:
            if "event-stream" not in raw.headers.get("content-type", ""):
                return cast("bytes", await raw.read())
            return await whole(chunks(raw.iter_lines()), ChunkAssembly(self._name), self._classify)

    def _read(self, request: ModelRequest, body: Json) -> ModelReply:
        return read_reply(request, body, self._abilities)
