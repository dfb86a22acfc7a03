"""The providers' keys: read when needed, remembered only to keep them out of texts.

A key that is a function (a file, `pass`, `sops`) is called again after a few seconds, so a rotated
key takes effect without a restart. Keys are written nowhere.
"""

import re
import time
from collections.abc import Awaitable, Callable, Mapping

from pydantic import SecretStr

from activities.ports.model_provider import AuthenticationFailedError
from workflows.domain.agent.model_values import Provider

KeySource = SecretStr | Callable[[], Awaitable[SecretStr]]
"""A key, or a function that returns it."""

_SENDABLE = re.compile(r"[!-~]+")

FRESH_S = 10.0
"""One call reads a key once; a call a minute later reads it again."""


class KeyRing:
    """The keys of one process."""

    def __init__(
        self,
        sources: Mapping[Provider, KeySource],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Args: the source of each key; a clock in seconds."""
        self._sources = sources
        self._clock = clock
        self._read: dict[Provider, tuple[float, str]] = {}

    async def key(self, provider: Provider) -> str:
        """Return the provider's current key.

        Raises:
            AuthenticationFailedError: there is no key, or it cannot be read.
        """
        at, value = self._read.get(provider, (float("-inf"), ""))
        if self._clock() - at > FRESH_S:
            value = await self._ask(provider)
            self._read[provider] = (self._clock(), value)
        return value

    async def renew(self, provider: Provider) -> bool:
        """Read a refused key again; return whether it has changed.

        An unchanged key is read again with the next call.

        Raises:
            AuthenticationFailedError: it cannot be read.
        """
        _, refused = self._read.get(provider, (0.0, ""))
        value = await self._ask(provider)
        is_other = value != refused
        self._read[provider] = (self._clock() if is_other else float("-inf"), value)
        return is_other

    def known(self) -> tuple[str, ...]:
        """Return every key seen so far, sorted; none of them may appear in a text."""
        fixed = (s for s in self._sources.values() if isinstance(s, SecretStr))
        found = {
            *(s.get_secret_value().strip() for s in fixed),
            *(value for _, value in self._read.values()),
        }
        return tuple(sorted(found))

    async def _ask(self, provider: Provider) -> str:
        source = self._sources.get(provider)
        if source is None:
            raise AuthenticationFailedError(
                f"there is no key for {provider!r}; give one to the workers of role models"
            )
        try:
            secret = source if isinstance(source, SecretStr) else await source()
        except Exception as error:  # noqa: BLE001 - whatever fails, its text may hold the key
            kind = type(error).__name__
            raise AuthenticationFailedError(
                f"the key for {provider!r} cannot be read ({kind}); check its file or command"
            ) from None
        value = secret.get_secret_value().strip()
        if not value:
            raise AuthenticationFailedError(f"the key for {provider!r} is empty")
        if not _SENDABLE.fullmatch(value):
            raise AuthenticationFailedError(
                f"the key for {provider!r} holds spaces, line breaks or other signs that no key has"
            )
        return value
