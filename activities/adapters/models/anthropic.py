"""The provider Anthropic, over its official SDK and the Messages API.

It asks the SDK for a stream of raw events, so that nothing of them is dropped or reordered (its own
reader leaves out an event whose name was lost on the way), and never retries; Temporal does.
"""

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

from activities.adapters.models.anthropic_messages import read_reply, wire_request
from activities.adapters.models.anthropic_stream import MessageAssembly
from activities.adapters.models.boundary import check_conversation
from activities.adapters.models.keys import KeyRing
from activities.adapters.models.retry_after import retry_after
from activities.adapters.models.streams import whole
from activities.adapters.models.transport import SdkClient, Transport, exchange
from activities.adapters.models.verdicts import Reported, decide
from activities.adapters.models.wire import Json
from activities.ports.models import ModelError, ModelReply, ModelRequest, OutcomeUnknownError

if TYPE_CHECKING:
    from anthropic import APIStatusError, AsyncAnthropic

BASE_URL = "https://api.anthropic.com"


class AnthropicProvider:
    """Calls the Messages API; implements `activities.ports.models.ModelProvider`."""

    def __init__(self, transport: Transport, keys: KeyRing, base_url: str = BASE_URL) -> None:
        """Args: the shared client; the keys; the server, without the path."""
        self._transport = transport
        self._keys = keys
        self._base_url = base_url
        self._sdk = SdkClient(self._client)

    async def call(self, request: ModelRequest) -> ModelReply:
        """Send one request; see the port."""
        check_conversation(request.messages)
        key = await self._keys.key("anthropic")
        client = await self._sdk.get(key)

        async def send() -> Json:
            from anthropic import AsyncStream

            create = cast("Any", client.messages.with_streaming_response.create)
            timeout = self._transport.patience(request.timeout)
            async with create(**wire_request(request), stream=True, timeout=timeout) as raw:
                sent = AsyncStream.raw_events(raw.http_response)
                events = (json.loads(event.data) async for event in sent if event.data)
                return await whole(events, MessageAssembly(), _classify)

        body = await exchange(send, _classify, request.timeout, key)
        return read_reply(request, body)

    def _client(self, key: str) -> "AsyncAnthropic":
        from anthropic import AsyncAnthropic

        return AsyncAnthropic(
            api_key=key,
            base_url=self._base_url,
            max_retries=0,
            http_client=self._transport.client,
        )


def _classify(error: Exception) -> ModelError | None:
    """Read the SDK's error body; what it means is decided elsewhere."""
    from anthropic import APIError, APIStatusError

    if isinstance(error, APIStatusError):
        return decide(_reported(error))
    if isinstance(error, APIError):
        return OutcomeUnknownError(f"anthropic: {type(error).__name__}: {error.message}")
    return None


def _reported(error: "APIStatusError") -> Reported:
    codes = {code for code in (error.type, error.error_code) if code}
    return Reported(
        provider="anthropic",
        status=error.status_code,
        codes=frozenset(codes),
        message=error.api_message or error.message,
        retry_after=retry_after(error.response.headers, datetime.now(UTC)),
    )
