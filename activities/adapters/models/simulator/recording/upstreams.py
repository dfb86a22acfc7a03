"""Where a request to the recorder is sent, and in which wire format it is.

The first part of the path may name the provider (`/local/v1/chat/completions`), which compatible
servers need; built-in providers are also recognised by their paths alone.
"""

import re
from collections.abc import Mapping
from typing import Final, Literal, NamedTuple
from urllib.parse import urlsplit

from workflows.domain.agent.model_values import Provider

DialectName = Literal["anthropic", "openai", "chat", "gemini"]

_FORMS: Final[tuple[tuple[re.Pattern[str], DialectName], ...]] = (
    (re.compile(r".*/messages"), "anthropic"),
    (re.compile(r".*/responses"), "openai"),
    (re.compile(r".*/chat/completions"), "chat"),
    (re.compile(r".*/models/(?P<model>.+):(stream)?[gG]enerateContent"), "gemini"),
)
_VERSION: Final = "/v1"
_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1", "0.0.0.0"})  # noqa: S104 (compared)


class Destination(NamedTuple):
    """Where one request goes."""

    url: str
    """Without the query."""
    dialect: DialectName | None
    """None: it does not ask a model for an answer, and is only passed on."""
    model: str = ""
    """The model that the path names; empty: the body names it."""


class Upstreams:
    """The providers that can be recorded."""

    def __init__(self, urls: Mapping[Provider, str]) -> None:
        """Keep the addresses.

        Args:
            urls: by name, each provider's base URL as its SDK takes it; for OpenAI's formats with
                `/v1`, or with its equivalent.
        """
        self.urls = {name: url.rstrip("/") for name, url in urls.items()}

    def own(self, port: int) -> list[Provider]:
        """Return the providers whose address is `port` of this machine: the recorder itself."""
        return [name for name, url in self.urls.items() if _is_here(url, port)]

    def destination(self, method: str, path: str, headers: Mapping[str, str]) -> Destination | None:
        """Return where a request goes; None: no known provider could answer it.

        Args:
            method: the HTTP method.
            path: as received, still encoded, without the query.
            headers: names in lower case, or a mapping that ignores case.
        """
        if not path.startswith("/"):
            return None  # `*`, or a whole address, which would name another host after a base URL.
        _, first, *more = path.split("/")
        name, rest = (first, "/" + "/".join(more)) if first in self.urls else ("", path)
        name = name or _owner(rest, headers)
        base = self.urls.get(name)
        if base is None:
            return None
        if name not in {"anthropic", "google"}:
            rest = rest.removeprefix(_VERSION)
        forms = _FORMS if method == "POST" else ()
        for pattern, dialect in forms:
            if found := pattern.fullmatch(rest):
                return Destination(base + rest, dialect, found.groupdict().get("model", ""))
        return Destination(base + rest, None)


def _is_here(url: str, port: int) -> bool:
    parts = urlsplit(url)
    try:
        return parts.port == port and parts.hostname in _LOOPBACK
    except ValueError:  # its port is invalid; the first request reports it
        return False


def _owner(path: str, headers: Mapping[str, str]) -> Provider:
    """Return the provider of a path; several use `/v1/models`, distinguished by their headers."""
    if path.startswith("/v1beta/") or ":" in path or "x-goog-api-key" in headers:
        return "google"
    if path.startswith("/v1/messages") or "anthropic-version" in headers:
        return "anthropic"
    return "openai"
