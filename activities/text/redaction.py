"""Secrets taken out of what is shown to a model, kept, or written into a history or a log.

Two ways: what looks like a secret goes by its form, wherever it comes from (`redact_bytes`, and of
texts `policy.text.secret_patterns`); what is known to be one goes by its value, also where
someone encoded it (`KnownSecrets`).
"""

import base64
import json
import re
from collections.abc import Iterable, Iterator
from urllib.parse import quote, quote_plus

from workflows.policy.text.secret_patterns import without_secrets

REDACTED = "[key]"
_ESCAPE = re.compile("%[0-9A-F]{2}")
SHORTEST = 8
"""Anything shorter is a placeholder, and would redact ordinary words."""


def redact_bytes(data: bytes) -> bytes:
    """Return bytes of any encoding that contains ASCII without the secrets known by their form."""
    text = data.decode("latin-1")  # a view of each byte as one character: nothing can be lost
    cleaned = without_secrets(text)
    return data if cleaned is text else cleaned.encode("latin-1")


class KnownSecrets:
    """Values that must not appear in any text, in the forms in which they travel.

    Each counts plain, inside a JSON text, URL-encoded, in hexadecimal, and in both alphabets of
    base64 (RFC 4648) at any of the three places that it can have in a longer text.
    """

    def __init__(self, values: Iterable[str]) -> None:
        """Args: the secrets; those below eight characters are left alone."""
        forms = {f for value in values if len(value) >= SHORTEST for f in _forms(value)}
        self._forms = tuple(sorted(forms, key=lambda each: (-len(each), each)))

    def redact(self, text: str) -> str:
        """Replace each by `[key]`; the same object where there is none."""
        for form in self._forms:
            if form in text:
                text = text.replace(form, REDACTED)
        return text


def _forms(value: str) -> Iterator[str]:
    raw = value.encode()
    yield from (value, raw.hex(), raw.hex().upper())
    for quoted in (quote(value, safe=""), quote(value), quote_plus(value)):
        yield from (quoted, _ESCAPE.sub(lambda escape: escape[0].lower(), quoted))
    for ascii_only in (True, False):
        yield json.dumps(value, ensure_ascii=ascii_only)[1:-1]
    for offset in range(3):
        yield from _base64_forms(raw, offset)


def _base64_forms(raw: bytes, offset: int) -> Iterator[str]:
    """Encode `raw` as it stands behind `offset` other bytes: only the characters it alone makes."""
    first = -(-offset * 8 // 6)
    last = (offset + len(raw)) * 8 // 6
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        yield encode(bytes(offset) + raw).decode()[first:last]
