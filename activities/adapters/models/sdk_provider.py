"""The common part of adapters over official SDKs: one call, from the key to the reply.

An adapter adds its SDK's client, how to send a raw request, what the SDK's exceptions mean, and how
to read the body. It never retries; Temporal does.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from activities.adapters.models.call_measures import call_to
from activities.adapters.models.dialects.neutral_messages import check_conversation
from activities.adapters.models.keys import KeyRing
from activities.adapters.models.streams import Assembly, whole
from activities.adapters.models.transport import SdkClient, Transport, exchange
from activities.ports.model_provider import ModelError, ModelReply, ModelRequest
from activities.text.foreign_json import Json
from workflows.domain.agent.model_values import Provider

if TYPE_CHECKING:
    from httpx2 import Response

C = TypeVar("C")
R = TypeVar("R")


class RawResponse(Protocol):
    """An SDK's answer before it is read."""

    @property
    def http_response(self) -> "Response":
        """The HTTP client's response."""
        ...


class SdkProvider(ABC, Generic[C]):
    """One provider over its SDK; implements `activities.ports.model_provider.ModelProvider`."""

    def __init__(self, name: Provider, transport: Transport, keys: KeyRing, base_url: str) -> None:
        """Args: whose key it uses; the shared client; the keys; the SDK's base URL."""
        self._name: Provider = name
        self._transport = transport
        self._keys = keys
        self._base_url = base_url
        self._sdk = SdkClient(self._client)

    async def call(self, request: ModelRequest) -> ModelReply:
        """Send one request; see the port."""
        check_conversation(request.messages)
        key = await self._key()
        client = await self._sdk.get(key)

        async def send() -> str | bytes | Json:
            return await self._send(client, request)

        with call_to(self._name):
            body = await exchange(send, self._classify, request.timeout, key)
        return self._read(request, body)

    async def _stream(
        self,
        create: Callable[..., AbstractAsyncContextManager[R]],
        arguments: Json,
        events: Callable[[R], Awaitable[AsyncIterator[object]]],
        assembly: Assembly,
        limit: timedelta,
    ) -> Json:
        """Call an SDK's `with_streaming_response.create` and assemble its raw events."""
        async with self._opened(create, arguments, limit) as raw:
            return await whole(await events(raw), assembly, self._classify)

    def _opened(
        self,
        create: Callable[..., AbstractAsyncContextManager[R]],
        arguments: Json,
        limit: timedelta,
    ) -> AbstractAsyncContextManager[R]:
        return create(**arguments, stream=True, timeout=self._transport.patience(limit))

    async def _key(self) -> str:
        """Return the current key; empty: the server needs none."""
        return await self._keys.key(self._name)

    @abstractmethod
    def _client(self, key: str) -> C:
        """Import the SDK and make its client, without retries; runs in a thread."""

    @abstractmethod
    async def _send(self, client: C, request: ModelRequest) -> str | bytes | Json:
        """Make the call and return the body as received, or as assembled from its stream."""

    @abstractmethod
    def _classify(self, error: Exception) -> ModelError | None:
        """Read the SDK's error, without deciding what it means. None: it is not the SDK's."""

    @abstractmethod
    def _read(self, request: ModelRequest, body: Json) -> ModelReply:
        """Translate a whole answer."""


async def raw_body(
    create: Callable[..., Awaitable[RawResponse]], arguments: Json, timeout_s: float
) -> bytes:
    """Call an SDK's `with_raw_response.create` and return the body unchanged."""
    raw = await create(**arguments, timeout=timeout_s)
    return raw.http_response.content
