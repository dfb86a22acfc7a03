"""The content-addressed store that all workers share: messages, observations, diffs, bundles."""

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
