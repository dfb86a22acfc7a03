"""The provider Google, over its official SDK and generateContent.

The conversation is sent as raw JSON and the stream's chunks are read raw, one layer below the SDK's
public method: its types drop unknown fields and re-encode thought signatures, and for a stream they
cannot be avoided. That layer neither calls functions nor continues an answer. Retries are off.
Each of these would make calls that no one counts.
"""

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from activities.adapters.models.dialects.gemini_content import (
    ContentAssembly,
    read_reply,
    wire_request,
)
from activities.adapters.models.error_classes import Reported, decide
from activities.adapters.models.keys import KeyRing
from activities.adapters.models.sdk_provider import SdkProvider
from activities.adapters.models.streams import lively, whole
from activities.adapters.models.transport import Transport
from activities.ports.model_provider import (
    ModelError,
    ModelReply,
    ModelRequest,
    OutcomeUnknownError,
)
from activities.text.foreign_json import Json, table, tables, text
from activities.text.retry_after import parse_wait, retry_after

if TYPE_CHECKING:
    from google.genai import Client
    from google.genai.errors import APIError

BASE_URL = "https://generativelanguage.googleapis.com"


class GeminiProvider(SdkProvider["Client"]):
    """Calls generateContent; implements `activities.ports.model_provider.ModelProvider`."""

    def __init__(self, transport: Transport, keys: KeyRing, base_url: str = BASE_URL) -> None:
        """Args: the shared client; the keys; the server, without version and path."""
        super().__init__("google", transport, keys, base_url)

    async def _send(self, client: "Client", request: ModelRequest) -> Json:
        timeout_ms = int(request.timeout.total_seconds() * 1000)
        # The layer below; see the module's docstring.
        streamed = client._api_client.async_request_streamed  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        path = f"{_resource(request.model.model)}:streamGenerateContent?alt=sse"
        chunks = await streamed("post", path, wire_request(request), {"timeout": timeout_ms})
        parsed = (json.loads(chunk.body) async for chunk in chunks)
        events = lively(parsed, self._transport.idle_s)
        return await whole(events, ContentAssembly(), self._classify)

    def _client(self, key: str) -> "Client":
        from google.genai import Client
        from google.genai.types import HttpOptions, HttpRetryOptions

        return Client(
            api_key=key,
            vertexai=False,
            http_options=HttpOptions(
                base_url=self._base_url,
                # Without a given client the SDK may use aiohttp, which sleeps and retries.
                httpx_async_client=self._transport.client,
                retry_options=HttpRetryOptions(attempts=1),
            ),
        )

    def _classify(self, error: Exception) -> ModelError | None:
        from google.genai.errors import APIError, UnknownApiResponseError

        if isinstance(error, UnknownApiResponseError):
            return OutcomeUnknownError("google: the answer is cut or is not JSON")
        if not isinstance(error, APIError):
            return None
        return decide(_reported(error))

    def _read(self, request: ModelRequest, body: Json) -> ModelReply:
        return read_reply(request, body)


def _resource(model: str) -> str:
    return model if "/" in model else f"models/{model}"


def _reported(error: "APIError") -> Reported:
    details = _details(getattr(error, "details", None))
    waits = [text(detail.get("retryDelay")) for detail in details if detail.get("retryDelay")]
    now = datetime.now(UTC)
    response: object = getattr(error, "response", None)
    headers: Mapping[str, str] = getattr(response, "headers", {})
    return Reported(
        provider="google",
        status=error.code or 0,
        codes=frozenset(_codes(error.status, details)),
        message=text(error.message),
        retry_after=parse_wait(waits[0], now) if waits else retry_after(headers, now),
    )


def _details(body: object) -> list[Json]:
    """The body is the JSON object, or a list that holds it."""
    whole = table(body) or next(iter(tables(body)), Json())
    return tables(table(whole.get("error")).get("details"))


def _codes(status: str | None, details: Iterable[Json]) -> Iterable[str]:
    """The status, each detail's reason, and `daily_quota` if a day's quota is used up."""
    if status:
        yield status
    for detail in details:
        yield text(detail.get("reason"))
        if any("PerDay" in text(v.get("quotaId")) for v in tables(detail.get("violations"))):
            yield "daily_quota"
