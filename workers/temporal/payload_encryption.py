"""An encrypting payload codec: only Blue Flame can read a session's payloads on the server.

AES-256-GCM (NIST SP 800-38D) with a random nonce of 96 bits for each payload. The key's id is bound
as associated data and travels with the payload, so that keys can be rotated: the first key
encrypts, every key decrypts. Payloads of other codecs pass unchanged, so it can be switched on
while sessions run. Ids of workflows, types, queues, sizes and times stay readable. So do the blob
store and git data on the workers' disks, except payloads that were too large for a history.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Final

from temporalio.api.common.v1 import Payload
from temporalio.converter import PayloadCodec

from workers.temporal.temporal_errors import PayloadUnreadableError

ENCODING: Final = b"binary/encrypted"
_KEY_ID: Final = "encryption-key-id"
_NONCE_BYTES: Final = 12


class KeylessCodec(PayloadCodec):
    """Changes nothing, and reports the missing key when it meets an encrypted payload."""

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """Return the payloads unchanged."""
        return list(payloads)

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """Return the payloads unchanged.

        Raises:
            PayloadUnreadableError: one is encrypted.
        """
        for payload in payloads:
            if payload.metadata.get("encoding") == ENCODING:
                name = payload.metadata.get(_KEY_ID, b"").decode("ascii", "replace")
                raise PayloadUnreadableError(
                    f"this session is encrypted with key {name!r}; set BLUEFLAME_PAYLOAD_KEYS"
                )
        return list(payloads)


class EncryptingCodec(PayloadCodec):
    """Encrypts each payload whole, its metadata included."""

    def __init__(self, keys: Mapping[str, bytes]) -> None:
        """Args: keys of 32 bytes by id, at least one; the first one encrypts."""
        # Imported here, so that the command line does not load it when nothing is encrypted.
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        self._ciphers = {name: AESGCM(key) for name, key in keys.items()}
        self._current = next(iter(self._ciphers))

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """Encrypt each payload, in order."""
        return [self._sealed(payload) for payload in payloads]

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """Decrypt each payload of this codec, in order; others pass unchanged.

        Raises:
            PayloadUnreadableError: its key is missing, or the payload was changed.
        """
        return [self._opened(payload) for payload in payloads]

    def _sealed(self, payload: Payload) -> Payload:
        nonce = os.urandom(_NONCE_BYTES)
        name = self._current
        sealed = self._ciphers[name].encrypt(nonce, payload.SerializeToString(), name.encode())
        metadata = {"encoding": ENCODING, _KEY_ID: name.encode()}
        return Payload(metadata=metadata, data=nonce + sealed)

    def _opened(self, payload: Payload) -> Payload:
        if payload.metadata.get("encoding") != ENCODING:
            return payload
        name = payload.metadata.get(_KEY_ID, b"").decode("ascii", "replace")
        cipher = self._ciphers.get(name)
        if cipher is None:
            raise PayloadUnreadableError(
                f"a payload needs key {name!r}, which BLUEFLAME_PAYLOAD_KEYS does not hold; "
                "keep old keys behind the new one for as long as histories are retained"
            )
        from cryptography.exceptions import InvalidTag

        nonce, sealed = payload.data[:_NONCE_BYTES], payload.data[_NONCE_BYTES:]
        try:
            return Payload.FromString(cipher.decrypt(nonce, sealed, name.encode()))
        except (InvalidTag, ValueError):
            raise PayloadUnreadableError(
                f"a payload of key {name!r} was changed, or another key had that id"
            ) from None
