"""A webhook: one POST with a JSON body, signed as standardwebhooks.com describes.

    webhook-id: the message's id, the same each time that it is sent
    webhook-timestamp: seconds since 1970, when it was sent
    webhook-signature: v1,base64(HMAC-SHA256(key, "<id>.<timestamp>.<body>"))

It follows no redirect: the body is for the host that the person named.
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Final

from activities.ports.land.notification_port import WebhookEntry
from activities.text.text_files import TextFileError, read_text_file
from workflows.domain.session.notification import Notification

_PATIENCE_SECONDS: Final = 10
_MOST_BYTES: Final = 4_096
_LEAST_KEY_BYTES: Final = 16
_PREFIX: Final = "whsec_"


class WebhookTarget:
    """One webhook."""

    def __init__(self, entry: WebhookEntry, clock: Callable[[], datetime]) -> None:
        """Use the entry; `clock` returns now."""
        self._entry = entry
        self._clock = clock

    async def send(self, notification: Notification) -> str:
        """Post a message, once; any answer but 2xx is a fault."""
        import httpx2

        try:
            key = read_key(self._entry.secret_file.expanduser())
        except (OSError, TextFileError, ValueError) as error:
            return f"its secret_file cannot be used: {error}"
        body = notification.model_dump_json().encode()
        headers = signed_headers(key, notification.id, self._clock(), body)
        try:
            async with httpx2.AsyncClient(timeout=_PATIENCE_SECONDS) as client:
                answer = await client.post(
                    self._entry.url.get_secret_value(), content=body, headers=headers
                )
        except httpx2.HTTPError as error:
            return f"no answer ({type(error).__name__})"  # its text may contain the address
        return "" if answer.is_success else f"the server answered with status {answer.status_code}"


def signed_headers(key: bytes, name: str, at: datetime, body: bytes) -> dict[str, str]:
    """Return the headers of a signed body.

    Args:
        key: of the signature.
        name: the message's id.
        at: when it is sent; receivers refuse what is too old.
        body: exactly as it is sent.
    """
    seconds = str(int(at.timestamp()))
    signed = b".".join((name.encode(), seconds.encode(), body))
    signature = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return {
        "content-type": "application/json",
        "user-agent": "blueflame",
        "webhook-id": name,
        "webhook-timestamp": seconds,
        "webhook-signature": f"v1,{signature}",
    }


def read_key(path: Path) -> bytes:
    """Read a key from its file: `whsec_` and base64, or any other text as it is.

    Raises:
        OSError: the file cannot be read.
        TextFileError: it is not a short text.
        ValueError: others can read it, or the key is too short or not base64.
    """
    if path.stat().st_mode & 0o077:
        raise ValueError(f"others can read {str(path)!r}; run `chmod 600` on it")
    text = read_text_file(path, _MOST_BYTES).strip()
    try:
        is_coded = text.startswith(_PREFIX)
        key = base64.b64decode(text.removeprefix(_PREFIX), validate=True) if is_coded else b""
    except binascii.Error:
        raise ValueError(f"after {_PREFIX!r} there must be base64") from None
    key = key or text.encode()
    if len(key) < _LEAST_KEY_BYTES:
        raise ValueError(f"the key has under {_LEAST_KEY_BYTES} bytes; make a longer one")
    return key
