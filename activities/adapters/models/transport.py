"""The one way to the providers: a shared HTTP client, hard time limits, and what its failures mean.

The official SDKs all run on httpx2, so one client serves them; it never retries and keeps the last
rate-limit headers of each server. A failure before the request was written is `unavailable`, any
later one leaves the outcome unknown. No message that leaves here holds a key.
"""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast

from pydantic import SecretStr

from activities.ports.models import (
    AuthenticationFailedError,
    ModelError,
    OutcomeUnknownError,
    ProviderUnavailableError,
)
from activities.text import clean

if TYPE_CHECKING:
    from httpx2 import AsyncClient, Response

KeySource = SecretStr | Callable[[], Awaitable[SecretStr]]
"""A key, or what is asked for it before each call, so that a rotated key counts at once."""

MESSAGE_CHARS = 1_000

_KEY_LIKE = re.compile(r"\b(sk-|AIza|AQ\.)[A-Za-z0-9_*.\-]{8,}")
_LIMIT_HEADER = re.compile(r"(anthropic-ratelimit|x-ratelimit)-[a-z-]+")


class Transport:
    """Owns the HTTP client; belongs to one event loop; close it when the worker ends."""

    def __init__(self, *, trust_env: bool = True) -> None:
        """Args: whether proxies named by the environment are used."""
        self._trust_env = trust_env
        self._client: AsyncClient | None = None
        self._limits: dict[str, Mapping[str, str]] = {}

    @property
    def client(self) -> "AsyncClient":
        """The shared client, made when first used."""
        if self._client is None:
            from httpx2 import AsyncClient, Limits

            self._client = AsyncClient(
                trust_env=self._trust_env,
                follow_redirects=False,
                # Nothing waits for a free connection: the queues' rates bound the calls.
                limits=Limits(max_connections=None, max_keepalive_connections=20),
                event_hooks={"response": [self._remember_limits]},
            )
        return self._client

    def rate_limits(self, host: str) -> Mapping[str, str]:
        """Return the rate-limit headers that `host` (with its port) sent last; empty: none yet."""
        return self._limits.get(host, {})

    async def aclose(self) -> None:
        """Close the connections; the next use makes a new client."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def _remember_limits(self, response: "Response") -> None:
        found = {k: v for k, v in response.headers.items() if _LIMIT_HEADER.fullmatch(k)}
        if found:
            self._limits[response.url.netloc.decode("ascii", "replace")] = found


async def read_key(source: KeySource | None, provider: str) -> str:
    """Ask for the key as it is now.

    Raises:
        AuthenticationFailedError: there is none.
    """
    secret = source if isinstance(source, SecretStr | None) else await source()
    value = secret.get_secret_value().strip() if secret is not None else ""
    if not value:
        raise AuthenticationFailedError(
            f"there is no key for {provider!r}; set it in the environment of the model workers "
            "or in the configuration of keys"
        )
    return value


async def exchange(
    send: Callable[[], Awaitable[str | bytes]],
    classify: Callable[[Exception], ModelError | None],
    limit: timedelta,
    key: str,
) -> dict[str, Any]:
    """Send one request through an SDK and return the JSON object that came back.

    Args:
        send: makes the call and returns the body as it came.
        classify: maps an SDK's own exceptions; None: not one of its.
        limit: for everything, from connecting to the last byte.
        key: removed from every message.

    Raises:
        ModelError: whatever went wrong, without the SDK's exception (it holds the request).
    """
    try:
        async with asyncio.timeout(limit.total_seconds()):
            body = await send()
        return _json_object(body)
    except TimeoutError:
        raise OutcomeUnknownError(f"no answer within {limit.total_seconds():g} s") from None
    except ModelError:
        raise
    except Exception as error:
        failure = _transport_failure(error) or classify(error)
        if failure is None:
            raise
        raise _told(failure, key) from None


def wording(message: str, key: str) -> str:
    """Make a provider's text fit for an error message: no key in it, and not too long."""
    safe = clean(message).replace(key, "[key]") if key else clean(message)
    return _KEY_LIKE.sub("[key]", safe)[:MESSAGE_CHARS]


def _told(failure: ModelError, key: str) -> ModelError:
    failure.args = tuple(wording(str(arg), key) for arg in failure.args)
    return failure


def _json_object(body: str | bytes) -> dict[str, Any]:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise OutcomeUnknownError("the answer is cut or is no JSON object")
    return cast("dict[str, Any]", value)


def _transport_failure(error: BaseException) -> ModelError | None:
    """Judge by the first HTTP failure in the chain of causes; SDKs wrap it or let it through.

    | failure                                       | meaning                                    |
    |-----------------------------------------------|--------------------------------------------|
    | no connection, no proxy, wrong URL, no socket | not sent: unavailable                      |
    | anything else of the transport                | may have been read and billed: unknown     |
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
        httpx2.UnsupportedProtocol,
        httpx2.LocalProtocolError,
        httpx2.InvalidURL,
    )
    if isinstance(cause, unsent):
        return ProviderUnavailableError(f"the provider cannot be reached ({kind}): {cause}")
    return OutcomeUnknownError(f"the connection ended before the whole answer ({kind}): {cause}")
