"""External storage on the shared directory: no payload above `THRESHOLD_BYTES` meets the server.

Files are write-once and named by their SHA-256, so that storing twice is harmless. Nothing is
deleted here: a history may refer to a payload for as long as it is retained.
"""

import asyncio
import hashlib
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from temporalio.api.common.v1 import Payload
from temporalio.converter import (
    StorageDriver,
    StorageDriverClaim,
    StorageDriverRetrieveContext,
    StorageDriverStoreContext,
)

THRESHOLD_BYTES: Final = 128 * 1024
"""Payloads above it are stored outside; half of the 256 kB that no payload may reach."""


class PayloadMissingError(Exception):
    """The store holds nothing under a claim, or something else."""


class LocalPayloadDriver(StorageDriver):
    """Keep large payloads in one directory that every process of ours can reach."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def name(self) -> str:
        """Return the name that references carry in histories: never change it."""
        return "blueflame.local"

    async def store(
        self, context: StorageDriverStoreContext, payloads: Sequence[Payload]
    ) -> list[StorageDriverClaim]:
        """Store each payload and answer its claim, in order."""
        del context
        return [await asyncio.to_thread(self._write, p.SerializeToString()) for p in payloads]

    async def retrieve(
        self, context: StorageDriverRetrieveContext, claims: Sequence[StorageDriverClaim]
    ) -> list[Payload]:
        """Return the payload of each claim, in order.

        Raises:
            PayloadMissingError: a file is gone or damaged.
        """
        del context
        return [await asyncio.to_thread(self._read, c.claim_data["sha256"]) for c in claims]

    def _write(self, data: bytes) -> StorageDriverClaim:
        digest = hashlib.sha256(data).hexdigest()
        target = self._directory / digest
        if not target.exists():
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            _write_durably(target, data)
        return StorageDriverClaim(claim_data={"sha256": digest})

    def _read(self, digest: str) -> Payload:
        path = self._directory / digest
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            data = b""
        if hashlib.sha256(data).hexdigest() != digest:
            raise PayloadMissingError(
                f"payload {digest!r} is missing or damaged in {str(self._directory)!r}; "
                "restore that directory from a backup, or start the session anew"
            )
        return Payload.FromString(data)


def _write_durably(target: Path, data: bytes) -> None:
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=".new-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            # A root process writes for the host's user too: whoever owns the directory reads all.
            owner = target.parent.stat()
            if os.geteuid() == 0:
                os.fchown(file.fileno(), owner.st_uid, owner.st_gid)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    directory = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
