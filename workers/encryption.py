"""An encrypting payload codec: what the Temporal server keeps of a session is read by us alone.

AES-256-GCM (NIST SP 800-38D) with a random nonce of 96 bits for each payload; the key's id is bound
as associated data and travels with the payload, so that keys can be rotated: the first one
encrypts, every one decrypts. Payloads that are not ours pass unchanged, so that it can be switched
on while sessions run. Ids of workflows, types, queues, sizes and times stay readable; so do the
blob store and git data on our own disks, but for payloads that were too large for a history.
"""

import base64
import binascii
import os
import re
from collections.abc import Mapping, Sequence
from typing import Final

from temporalio.api.common.v1 import Payload
from temporalio.converter import PayloadCodec

from workers.temporal import TemporalUnavailableError

ENCODING: Final = b"binary/encrypted"
_KEY_ID: Final = "encryption-key-id"
_NONCE_BYTES: Final = 12
_KEY_BYTES: Final = 32
_ID = re.compile(r"[A-Za-z0-9._-]{1,40}")


class PayloadKeyError(TemporalUnavailableError):
    """The keys cannot be read, or one that a payload needs is not among them."""


def read_keys(text: str) -> dict[str, bytes]:
    """Read `id:base64,id:base64,…`.

    Returns:
        32 bytes by id, in order; the first is the one that encrypts.

    Raises:
        PayloadKeyError: an entry has no id, its key is not 32 bytes, or an id comes twice; the
            message holds no key.
    """
    keys: dict[str, bytes] = {}
    for number, entry in enumerate(filter(None, re.split(r"[,\s]+", text.strip())), 1):
        name, colon, encoded = entry.partition(":")
        if not colon or not _ID.fullmatch(name):
            raise PayloadKeyError(
                f"BLUEFLAME_PAYLOAD_KEYS: entry {number} is not `id:base64`; "
                "`blueflame codec --new-key ID` makes one"
            )
        if name in keys:
            raise PayloadKeyError(f"BLUEFLAME_PAYLOAD_KEYS: the id {name!r} comes twice")
        keys[name] = _key(name, encoded)
    if not keys:
        raise PayloadKeyError(
            "BLUEFLAME_PAYLOAD_KEYS holds no key; `blueflame codec --new-key ID` makes one"
        )
    return keys


def _key(name: str, encoded: str) -> bytes:
    try:
        key = base64.b64decode(encoded, validate=True)
    except binascii.Error:
        key = b""
    if len(key) != _KEY_BYTES:
        raise PayloadKeyError(
            f"BLUEFLAME_PAYLOAD_KEYS: key {name!r} is not base64 of {_KEY_BYTES} bytes; "
            f"`blueflame codec --new-key {name}` makes one"
        )
    return key


def new_key(name: str) -> str:
    """Make a fresh key, as `read_keys` takes it.

    Raises:
        PayloadKeyError: the id has other signs than letters, digits, `.`, `_` and `-`.
    """
    if not _ID.fullmatch(name):
        raise PayloadKeyError(f"{name!r} is no id of a key: letters, digits, '.', '_', '-'")
    return f"{name}:{base64.b64encode(os.urandom(_KEY_BYTES)).decode()}"


class KeylessCodec(PayloadCodec):
    """Leaves all as it is, and says what is missing where it meets what others encrypted."""

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """Return the payloads as they are."""
        return list(payloads)

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """Return the payloads as they are.

        Raises:
            PayloadKeyError: one is encrypted.
        """
        for payload in payloads:
            if payload.metadata.get("encoding") == ENCODING:
                name = payload.metadata.get(_KEY_ID, b"").decode("ascii", "replace")
                raise PayloadKeyError(
                    f"this session is encrypted with key {name!r}; set BLUEFLAME_PAYLOAD_KEYS"
                )
        return list(payloads)


class EncryptingCodec(PayloadCodec):
    """Encrypts each payload whole, its metadata included."""

    def __init__(self, keys: Mapping[str, bytes]) -> None:
        """Args: 32 bytes by id, at least one; the first one encrypts."""
        # Here, so that the command line does not load it where nothing is encrypted.
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        self._ciphers = {name: AESGCM(key) for name, key in keys.items()}
        self._current = next(iter(self._ciphers))

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """Encrypt each payload, in order."""
        return [self._sealed(payload) for payload in payloads]

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """Decrypt each payload that is ours, in order; the others pass.

        Raises:
            PayloadKeyError: its key is not here, or the payload was changed.
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
            raise PayloadKeyError(
                f"a payload needs key {name!r}, which BLUEFLAME_PAYLOAD_KEYS does not hold; "
                "keep old keys behind the new one for as long as histories are retained"
            )
        from cryptography.exceptions import InvalidTag

        nonce, sealed = payload.data[:_NONCE_BYTES], payload.data[_NONCE_BYTES:]
        try:
            return Payload.FromString(cipher.decrypt(nonce, sealed, name.encode()))
        except (InvalidTag, ValueError):
            raise PayloadKeyError(
                f"a payload of key {name!r} was changed, or another key had that id"
            ) from None
