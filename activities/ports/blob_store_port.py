"""The content-addressed store that all workers share: messages, observations, diffs, bundles."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from workflows.domain.ids import Digest


class BlobMissingError(Exception):
    """The store has nothing under this digest (lost, or never written)."""


class BlobStore(Protocol):
    """Write-once bytes under their SHA-256."""

    async def put(self, data: bytes) -> Digest:
        """Store `data` durably and return its digest. Storing it twice is not an error."""
        ...

    async def get(self, digest: Digest) -> bytes:
        """Return the bytes under `digest`.

        Raises:
            BlobMissingError: nothing is stored there, or it does not match the digest.
        """
        ...


class StreamStore(BlobStore, Protocol):
    """A store that also takes and gives what is too large for memory: a base's history."""

    async def put_from(self, write: Callable[[int], Awaitable[None]]) -> Digest:
        """Store what `write` writes to the descriptor that it is given, without holding it."""
        ...

    async def discard(self, digest: Digest) -> None:
        """Delete a blob that no one needs any more. A missing one is not an error."""
        ...

    def opened(self, digest: Digest) -> AbstractAsyncContextManager[int]:
        """Open the bytes under `digest`, checked, as a file at its start.

        Raises:
            BlobMissingError: nothing is stored there, or it does not match the digest.
        """
        ...
