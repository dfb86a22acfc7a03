"""The provider Anthropic, over its official SDK and the Messages API.

It asks the SDK for a stream of raw events, so that none is dropped or reordered (the SDK's own
reader leaves out an event whose name was lost on the way).
"""

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from activities.adapters.models.dialects.anthropic_messages import read_reply, wire_request
from activities.adapters.models.dialects.anthropic_stream import MessageAssembly
from activities.adapters.models.error_classes import Reported, decide
from activities.adapters.models.keys import KeyRing
from activities.adapters.models.sdk_provider import RawResponse, SdkProvider
from activities.adapters.models.transport import Transport
from activities.ports.model_provider import (
    ModelError,
    ModelReply,
    ModelRequest,
    OutcomeUnknownError,
)
from activities.text.foreign_json import Json
from activities.text.retry_after import retry_after

if TYPE_CHECKING:
    from anthropic import APIStatusError, AsyncAnthropic

BASE_URL = "https://api.anthropic.com"


class AnthropicProvider(SdkProvider["AsyncAnthropic"]):
    """Calls the Messages API; implements `activities.ports.model_provider.ModelProvider`."""

    def __init__(self, transport: Transport, keys: KeyRing, base_url: str = BASE_URL) -> None:
        """Args: the shared client; the keys; the server, without the path."""
        super().__init__("anthropic", transport, keys, base_url)

    def _client(self, key: str) -> "AsyncAnthropic":
        from anthropic import AsyncAnthropic

        return AsyncAnthropic(
            api_key=key,
            base_url=self._base_url,
            max_retries=0,
            http_client=self._transport.client,
        )

    async def _send(self, client: "AsyncAnthropic", request: ModelRequest) -> Json:
        from anthropic import AsyncStream

        async def events(raw: RawResponse) -> AsyncIterator[object]:
            sent = AsyncStream.raw_events(raw.http_response)
            return (json.loads(event.data) async for event in sent if event.data)

        create = client.messages.with_streaming_response.create
        return await self._stream(
            create, wire_request(request), events, MessageAssembly(), request.timeout
        )

    def _classify(self, error: Exception) -> ModelError | None:
        from anthropic import APIError, APIStatusError

        if isinstance(error, APIStatusError):
            return decide(_reported(error))
        if isinstance(error, APIError):
            return OutcomeUnknownError(f"anthropic: {type(error).__name__}: {error.message}")
        return None

    def _read(self, request: ModelRequest, body: Json) -> ModelReply:
        return read_reply(request, body)


def _reported(error: "APIStatusError") -> Reported:
    codes = {code for code in (error.type, error.error_code) if code}
    return Reported(
        provider="anthropic",
        status=error.status_code,
        codes=frozenset(codes),
        message=error.api_message or error.message,
        retry_after=retry_after(error.response.headers, datetime.now(UTC)),
    )
