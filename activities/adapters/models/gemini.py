"""The provider Google, over its official SDK and generateContent.

The conversation goes as raw JSON and the answer is taken raw: the SDK's own types would re-encode
thought signatures. Retries, automatic function calling and automatic continuation are off, for each
of them would make calls that nobody counts.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, cast

from activities.adapters.models.gemini_content import read_reply, wire_request
from activities.adapters.models.keys import KeyRing
from activities.adapters.models.retry_after import parse_wait, retry_after
from activities.adapters.models.sdk_provider import SdkProvider
from activities.adapters.models.transport import Transport
from activities.adapters.models.verdicts import Reported, decide
from activities.adapters.models.wire import Json, table, tables, text
from activities.ports.models import ModelError, ModelReply, ModelRequest, OutcomeUnknownError

if TYPE_CHECKING:
    from google.genai import Client
    from google.genai.errors import APIError

BASE_URL = "https://generativelanguage.googleapis.com"


class GeminiProvider(SdkProvider["Client"]):
    """Calls generateContent; implements `activities.ports.models.ModelProvider`."""

    def __init__(self, transport: Transport, keys: KeyRing, base_url: str = BASE_URL) -> None:
        """Args: the shared client; the keys; the server, without version and path."""
        super().__init__("google", transport, keys, base_url)

    async def _send(self, client: "Client", request: ModelRequest) -> str:
        timeout_ms = int(request.timeout.total_seconds() * 1000)
        answer = await client.aio.models.generate_content(
            model=request.model.model,
            # Replaced whole by `extra_body`; the SDK insists on one.
            contents="-",
            config={
                "http_options": {"timeout": timeout_ms, "extra_body": wire_request(request)},
                "should_return_http_response": True,
                "automatic_function_calling": {"disable": True},
                "automatic_continuation": False,
            },
        )
        response = answer.sdk_http_response
        if response is None or response.body is None:
            raise OutcomeUnknownError("google: the answer has no body")
        return response.body

    def _client(self, key: str) -> "Client":
        from google.genai import Client
        from google.genai.types import HttpOptions, HttpRetryOptions

        return Client(
            api_key=key,
            vertexai=False,
            http_options=HttpOptions(
                base_url=self._base_url,
                # Without a client of ours the SDK may take aiohttp, which sleeps and retries.
                httpx_async_client=self._transport.client,
                retry_options=HttpRetryOptions(attempts=1),
            ),
        )

    def _classify(self, error: Exception) -> ModelError | None:
        from google.genai.errors import APIError, UnknownApiResponseError

        if isinstance(error, UnknownApiResponseError):
            return OutcomeUnknownError("google: the answer is cut or is no JSON")
        if not isinstance(error, APIError):
            return None
        return decide(_reported(error))

    def _read(self, request: ModelRequest, body: Json) -> ModelReply:
        return read_reply(request, body)


def _reported(error: "APIError") -> Reported:
    details = _details(cast("object", error.details))
    waits = [text(detail.get("retryDelay")) for detail in details if detail.get("retryDelay")]
    now = datetime.now(UTC)
    headers = cast("Mapping[str, str]", getattr(cast("object", error.response), "headers", {}))
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
    """The status, each detail's reason, and `daily_quota` where the quota of a day is used up."""
    if status:
        yield status
    for detail in details:
        yield text(detail.get("reason"))
        if any("PerDay" in text(v.get("quotaId")) for v in tables(detail.get("violations"))):
            yield "daily_quota"
