"""Removes credentials from a registry's answers, because some repeat what they received."""

from collections.abc import Iterable
from typing import Final

_SHORTEST: Final = 8
"""Replacing anything shorter would change ordinary bytes."""


class AnswerRedaction:
    """Replaces secrets in a stream by as many asterisks, so that no length changes."""

    def __init__(self, secrets: Iterable[str]) -> None:
        """Args: the secrets as an answer may hold them; short ones are ignored."""
        coded = {each.encode() for each in secrets if len(each) >= _SHORTEST}
        self._secrets = tuple(sorted(coded, key=len, reverse=True))
        self._longest = max(map(len, self._secrets), default=1)
        self._held = b""

    def next(self, data: bytes) -> bytes:
        """Take bytes, and return those that can be sent; the rest may be a secret's beginning."""
        whole = self._held + data
        for secret in self._secrets:
            whole = whole.replace(secret, b"*" * len(secret))
        split = max(len(whole) - self._longest + 1, 0)
        self._held = whole[split:]
        return whole[:split]

    def end(self) -> bytes:
        """Return what is left."""
        rest, self._held = self._held, b""
        return rest
