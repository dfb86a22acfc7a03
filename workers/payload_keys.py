"""The keys of the encrypting codec (`payload_encryption`): their format, and how to make one."""

import base64
import binascii
import os
import re
from typing import Final

_KEY_BYTES: Final = 32
_ID = re.compile(r"[A-Za-z0-9._-]{1,40}")


class PayloadKeyError(ValueError):
    """The given text holds no keys, or invalid ones; the message holds no key."""


def read_keys(text: str) -> dict[str, bytes]:
    """Read `id:base64,id:base64,…`.

    Returns:
        32 bytes by id, in order; the first key encrypts.

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
    """Make a fresh key in the format of `read_keys`.

    Raises:
        PayloadKeyError: the id has characters other than letters, digits, `.`, `_` and `-`.
    """
    if not _ID.fullmatch(name):
        raise PayloadKeyError(f"{name!r} is not an id of a key: letters, digits, '.', '_', '-'")
    return f"{name}:{base64.b64encode(os.urandom(_KEY_BYTES)).decode()}"
