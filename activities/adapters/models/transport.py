"""The only path to the providers: a shared HTTP client, hard time limits, and failure mapping.

The official SDKs all use httpx2, so one client serves them; it never retries. A failure before the
request was written is `unavailable`; any later failure leaves the outcome unknown. A stalled stream
is given up long before the whole call's limit. No message from this module holds a key.
"""

import asyncio
import gc
import json
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Generic, TypeVar

from activities.adapters.models.call_measures import answer_came
from activities.ports.model_provider import (
    ModelError,
    ModelUnusableError,
    OutcomeUnknownError,
    ProviderUnavailableError,
)
from activities.text.foreign_json import Json, is_table
from activities.text.surrogates import clean
from workflows.policy.text.secret_patterns import without_key_like

if TYPE_CHECKING:
    from httpx2 import AsyncBaseTransport, AsyncClient, Timeout

MESSAGE_CHARS = 1_000
IDLE = timedelta(minutes=5)
"""The longest silence within a call; a model that thinks may send nothing for minutes."""

C = TypeVar("C")


class Transport:
    """Owns the HTTP client; belongs to one event loop; close it when the worker ends."""

    def __init__(
        self,
        *,
        trust_env: bool = True,
        idle: timedelta = IDLE,
        wire: "AsyncBaseTransport | None" = None,
    ) -> None:
        """Args: whether to use the environment's proxies; the longest silence; another wire."""
        self.idle_s = idle.total_seconds()
        self._trust_env = trust_env
        self._wire = wire
        self._client: AsyncClient | None = None

    @property
    def client(self) -> "AsyncClient":
        """The shared client, made at its first use."""
        if self._client is None:
            from httpx2 import AsyncClient, Limits

            self._client = AsyncClient(
                trust_env=self._trust_env,
                transport=self._wire,
                follow_redirects=False,
                event_hooks={"response": [answer_came]},
                # Nothing waits for a free connection, because the queues' rates limit the calls.
                limits=Limits(max_connections=None, max_keepalive_connections=20),
            )
        return self._client

    def patience(self, limit: timedelta) -> "Timeout":
        """Return the SDK's time limits for one streamed call; any received data restarts them.

        Args:
            limit: for the whole call; `exchange` enforces it.
        """
        from httpx2 import Timeout

        return Timeout(limit.total_seconds(), read=self.idle_s)

    async def aclose(self) -> None:
        """Close the connections; clients made with this client cannot be used afterwards."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()


class SdkClient(Generic[C]):
    """One SDK's client, rebuilt when the key has changed."""

    def __init__(self, make: Callable[[str], C]) -> None:
        """Args: imports the SDK and makes a client for a key; runs in a thread."""
        self._make = make
        self._held: tuple[str, C] | None = None

    async def get(self, key: str) -> C:
        """Return the client for `key`; the first call takes as long as the SDK's import."""
        if self._held is None or self._held[0] != key:
            self._held = (key, await asyncio.to_thread(self._build, key))
        return self._held[1]

    def _build(self, key: str) -> C:
        # An SDK's import makes so many objects that the collector would double its time.
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            return self._make(key)
        finally:
            if was_enabled:
                gc.enable()


async def exchange(
    send: Callable[[], Awaitable[str | bytes | Json]],
    classify: Callable[[Exception], ModelError | None],
    limit: timedelta,
    key: str,
) -> Json:
    """Send one request through an SDK and return the JSON object of the answer.

    Args:
        send: makes the call and returns the body as received, or as assembled from a stream.
        classify: maps an SDK's own exceptions; None: the exception is not the SDK's.
        limit: for everything, from connecting to the last byte.
        key: removed from every message.

    Raises:
        ModelError: any failure, without the SDK's exception (it holds the request).
    """
    try:
        async with asyncio.timeout(limit.total_seconds()):
            body = await send()
        return _json_object(body)
    except TimeoutError:
        raise OutcomeUnknownError(f"no answer within {limit.total_seconds():g} s") from None
    except ModelError as failure:
        raise _told(failure, key) from None
    except Exception as error:
        failure = _transport_failure(error) or classify(error) or _no_json(error)
        if failure is None:
            raise
        raise _told(failure, key) from None


def wording(message: str, key: str) -> str:
    """Prepare a provider's text for an error message: without a key, and not too long."""
    safe = clean(message).replace(key, "[key]") if key else clean(message)
    return without_key_like(safe)[:MESSAGE_CHARS]


def _told(failure: ModelError, key: str) -> ModelError:
    failure.args = tuple(wording(str(arg), key) for arg in failure.args)
    return failure


def _no_json(error: Exception) -> ModelError | None:
    """The SDKs pass on the parser's own exception if an event is not JSON."""
    if isinstance(error, json.JSONDecodeError | UnicodeDecodeError | RecursionError):
        return OutcomeUnknownError("a part of the answer is not JSON")
    return None


def _json_object(body: str | bytes | Json) -> Json:
    if not isinstance(body, str | bytes):
        return body
    try:
        value: object = json.loads(body)
    except (ValueError, RecursionError):
        value = None
    if not is_table(value):
        raise OutcomeUnknownError("the answer is cut or is not JSON object")
    return value


def _transport_failure(error: BaseException) -> ModelError | None:
    """Judge by the first HTTP failure in the chain of causes, which SDKs wrap or pass on.

    | failure                        | meaning                                        |
    |--------------------------------|------------------------------------------------|
    | the URL or a header is invalid | not sent, and never will be: invalid           |
    | no connection, no proxy        | not sent: unavailable                          |
    | anything else of the transport | may have been read and billed: outcome unknown |
    """
    import httpx2

    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, httpx2.HTTPError | httpx2.InvalidURL):
        cause = cause.__cause__
    if cause is None or isinstance(cause, httpx2.HTTPStatusError):
        return None
    kind = type(cause).__name__
    unsent = (
        httpx2.ConnectError,
        httpx2.ConnectTimeout,
        httpx2.PoolTimeout,
        httpx2.ProxyError,
    )
    impossible = (httpx2.UnsupportedProtocol, httpx2.LocalProtocolError, httpx2.InvalidURL)
    if isinstance(cause, impossible):
        return ModelUnusableError(f"nothing can be sent ({kind}); check the base URL: {cause}")
    if isinstance(cause, unsent):
        return ProviderUnavailableError(f"the provider cannot be reached ({kind}): {cause}")
    return OutcomeUnknownError(f"the connection ended before the whole answer ({kind}): {cause}")
