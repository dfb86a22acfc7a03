"""The provider OpenAI, over its official SDK and the Responses API.

It asks the SDK for a stream of raw events, so that nothing is dropped or added.
"""

from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

from activities.adapters.models.dialects.openai_responses import (
    ResponseAssembly,
    failure,
    read_reply,
    wire_request,
)
from activities.adapters.models.error_classes import Reported, decide
from activities.adapters.models.keys import KeyRing
from activities.adapters.models.sdk_provider import SdkProvider
from activities.adapters.models.transport import Transport
from activities.ports.model_provider import (
    ModelError,
    ModelReply,
    ModelRequest,
    OutcomeUnknownError,
)
from activities.text.foreign_json import Json, table, text
from activities.text.retry_after import retry_after

if TYPE_CHECKING:
    from openai import APIStatusError, AsyncOpenAI, AsyncStream

BASE_URL = "https://api.openai.com/v1"
NO_KEY = "none"
"""The SDK requires a key; a server that needs none ignores it."""


class StreamedResponse(Protocol):
    """The SDK's answer to a streaming call, before it is read."""

    @property
    def headers(self) -> Mapping[str, str]:
        """The HTTP response's headers."""
        ...

    async def read(self) -> bytes:
        """Return the whole body."""
        ...

    async def parse(self, *, to: "type[AsyncStream[object]]") -> "AsyncStream[object]":
        """Return the body as events."""
        ...


class OpenAISdkProvider(SdkProvider["AsyncOpenAI"]):
    """What both interfaces of the OpenAI SDK have in common: the client and its errors."""

    def _client(self, key: str) -> "AsyncOpenAI":
        from openai import AsyncOpenAI

        return AsyncOpenAI(
            api_key=key or NO_KEY,
            base_url=self._base_url,
            max_retries=0,
            http_client=self._transport.client,
        )

    def _classify(self, error: Exception) -> ModelError | None:
        from openai import APIError, APIStatusError

        if isinstance(error, APIStatusError):
            return decide(_reported(self._name, error))
        if isinstance(error, APIError) and error.body is not None:
            # An error event in the stream.
            return decide(self._event_failure(table(error.body)))
        if isinstance(error, APIError):
            return OutcomeUnknownError(f"{self._name}: {type(error).__name__}: {error.message}")
        return None

    def _event_failure(self, error: Json) -> Reported:
        return failure(error)


class OpenAIProvider(OpenAISdkProvider):
    """Calls the Responses API; implements `activities.ports.model_provider.ModelProvider`."""

    def __init__(self, transport: Transport, keys: KeyRing, base_url: str = BASE_URL) -> None:
        """Args: the shared client; the keys; the server, with `/v1`."""
        super().__init__("openai", transport, keys, base_url)

    async def _send(self, client: "AsyncOpenAI", request: ModelRequest) -> Json:
        create = client.responses.with_streaming_response.create
        return await self._stream(
            create, wire_request(request), raw_events, ResponseAssembly(), request.timeout
        )

    def _read(self, request: ModelRequest, body: Json) -> ModelReply:
        return read_reply(request, body)


async def raw_events(raw: StreamedResponse) -> AsyncIterator[object]:
    """Return the events of a streamed response as plain JSON."""
    from openai import AsyncStream

    return await raw.parse(to=AsyncStream[object])


def _reported(provider: str, error: "APIStatusError") -> Reported:
    # Compatible servers also send numbers as codes.
    codes = {str(code) for code in (error.code, error.type) if code}
    return Reported(
        provider=provider,
        status=error.status_code,
        codes=frozenset(codes),
        message=text(table(error.body).get("message")) or error.message,
        retry_after=retry_after(error.response.headers, datetime.now(UTC)),
    )
