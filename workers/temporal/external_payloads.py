"""External storage: no payload above `THRESHOLD_BYTES` reaches the server.

Larger payloads go to the blob store that all workers share, and only their digest to the history.
Nothing is deleted here: a history may refer to a payload as long as the history is retained.
"""

from collections.abc import Sequence
from typing import Final

from temporalio.api.common.v1 import Payload
from temporalio.converter import (
    StorageDriver,
    StorageDriverClaim,
    StorageDriverRetrieveContext,
    StorageDriverStoreContext,
)

from activities.ports.blob_store_port import BlobStore
from workflows.domain.ids import Digest

THRESHOLD_BYTES: Final = 128 * 1024
"""Larger payloads are stored outside; this is half of the hard limit of 256 kB."""
_DIGEST: Final = "sha256"


class LocalPayloadDriver(StorageDriver):
    """Keep large payloads in a store that every Blue Flame process can reach."""

    def __init__(self, store: BlobStore) -> None:
        self._store = store

    def name(self) -> str:
        """Return the name that histories refer to; it must never change."""
        return "blueflame.store"

    async def store(
        self, context: StorageDriverStoreContext, payloads: Sequence[Payload]
    ) -> list[StorageDriverClaim]:
        """Store each payload and return its claim, in order."""
        del context
        digests = [await self._store.put(payload.SerializeToString()) for payload in payloads]
        return [StorageDriverClaim(claim_data={_DIGEST: digest}) for digest in digests]

    async def retrieve(
        self, context: StorageDriverRetrieveContext, claims: Sequence[StorageDriverClaim]
    ) -> list[Payload]:
        """Return the payload of each claim, in order.

        Raises:
            BlobMissingError: the store lost one, or holds other content.
        """
        del context
        blobs = [await self._store.get(Digest(claim.claim_data[_DIGEST])) for claim in claims]
        return [Payload.FromString(blob) for blob in blobs]
