"""Any server that speaks OpenAI's Chat Completions, over the official SDK.

Ollama, vLLM, llama.cpp, gateways: address and abilities are configuration, not guessed. It asks the
SDK for the raw answer, because servers differ in what they leave out and add.
"""

from typing import TYPE_CHECKING

from activities.adapters.models.chat_completions import read_reply, wire_request
from activities.adapters.models.keys import KeyRing
from activities.adapters.models.openai import OpenAISdkProvider
from activities.adapters.models.sdk_provider import raw_body
from activities.adapters.models.transport import Transport
from activities.adapters.models.wire import Json
from activities.ports.endpoints import ProviderEntry
from activities.ports.models import ModelReply, ModelRequest
from workflows.domain.models import Provider

if TYPE_CHECKING:
    from openai import AsyncOpenAI


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

    async def _send(self, client: "AsyncOpenAI", request: ModelRequest) -> bytes:
        create = client.chat.completions.with_raw_response.create
        body = wire_request(request, self._abilities)
        return await raw_body(create, body, request.timeout.total_seconds())

    def _read(self, request: ModelRequest, body: Json) -> ModelReply:
        return read_reply(request, body, self._abilities)
