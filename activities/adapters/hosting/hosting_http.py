"""HTTP to one hosting service: the token, limits, and what each status means.

| status                                          | means                                       |
|-------------------------------------------------|---------------------------------------------|
| 2xx                                             | the answer                                  |
| 429; 403 with `retry-after` or nothing left, or | limited: try again after the named wait     |
| whose text says so                              |                                             |
| 401                                             | refused: the token is wrong or revoked      |
| 403, 404                                        | refused: the token lacks a right, or there  |
|                                                 | is no such repository                       |
| 409, 422                                        | `ConflictError`: the API's module reads it  |
| 5xx, no answer, an answer that is not JSON      | unavailable: try again                      |
| any other, redirections too                     | refused                                     |

A request is never repeated here: Temporal repeats the activity. Redirections are not followed, so
the token reaches no other host.
"""

from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from activities.ports.land.hosting_entries import HostingService
from activities.ports.land.hosting_port import (
    HostingError,
    HostingLimitedError,
    HostingRefusedError,
    HostingUnavailableError,
)
from activities.text.foreign_json import Json, is_list, is_table, table, tables
from activities.text.retry_after import retry_after
from workflows.policy.text.secret_patterns import without_key_like

if TYPE_CHECKING:
    from httpx2 import AsyncBaseTransport, AsyncClient, Response

_SECONDS: Final = 30.0
_MOST_BYTES: Final = 8 << 20
_WAIT: Final = timedelta(minutes=1)
"""Where a service limits requests and does not say for how long."""
_LONGEST: Final = timedelta(hours=1)
_TEXT: Final = 300
_PAGES: Final = 10

Token = Callable[[], Awaitable[str]]


class ConflictError(HostingError):
    """The service cannot do this in the present state of things, or does not take the values."""


class HostingHttp:
    """Requests to one service."""

    def __init__(
        self,
        service: HostingService,
        token: Token,
        headers: Callable[[str], Mapping[str, str]],
        wire: "AsyncBaseTransport | None" = None,
    ) -> None:
        """Take what is needed for a request.

        Args:
            service: the service.
            token: returns the current token; empty: there is none, and none is sent.
            headers: returns an API's own headers for a token.
            wire: another transport than the network; for tests.
        """
        self._service = service
        self._token = token
        self._headers = headers
        self._wire = wire

    @property
    def service(self) -> HostingService:
        """The service that is spoken to."""
        return self._service

    async def get(self, path: str, **query: str | int) -> object:
        """Return the JSON of an answer."""
        return await self.ask("GET", path, query={k: str(v) for k, v in query.items()})

    async def listed(self, path: str, size: tuple[str, int], within: str = "") -> list[Json]:
        """Return the objects of a list: all pages of it, up to ten.

        Args:
            path: below the API's address.
            size: the parameter for a page's size, and the most that the service gives.
            within: the field of the answer that has the list; empty: the answer is the list.
        """
        name, most = size
        found: list[Json] = []
        for page in range(1, _PAGES + 1):
            answer = await self.get(path, **{name: most, "page": page})
            shown = tables(table(answer).get(within) if within else answer)
            found += shown
            if len(shown) < most:
                break
        return found

    async def ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> object:
        """Send one request and return the JSON of the answer.

        Args:
            method: of HTTP.
            path: below the API's address, beginning with `/`; or a whole address of this service.
            body: sent as JSON.
            query: of the URL.

        Raises:
            ConflictError: status 409 or 422.
            HostingError: see the table above.
        """
        token = await self._token()
        url = path if "://" in path else f"{self._service.url}{path}"
        headers = {"User-Agent": "blueflame", "Accept": "application/json", **self._headers(token)}
        if not token:
            headers.pop("Authorization", None)
        try:
            response = await self._sent(method, url, headers, body, query)
        except HostingError as error:
            raise type(error)(_hidden(str(error), token)) from None
        return self._answer(response, token)

    async def _sent(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: Mapping[str, object] | None,
        query: Mapping[str, str] | None,
    ) -> "Response":
        from httpx2 import HTTPError, InvalidURL

        try:
            async with self._client() as client:
                return await client.request(
                    method, url, headers=dict(headers), json=body, params=query
                )
        except (HTTPError, InvalidURL, OSError) as error:
            kind = type(error).__name__
            text = f"{self._service.host!r} did not answer ({kind}): {error}"
            raise HostingUnavailableError(text[:_TEXT]) from None

    def _client(self) -> "AsyncClient":
        from httpx2 import AsyncClient

        return AsyncClient(timeout=_SECONDS, follow_redirects=False, transport=self._wire)

    def _answer(self, response: "Response", token: str) -> object:
        status = response.status_code
        if 200 <= status < 300:  # noqa: PLR2004 (HTTP's own ranges)
            return self._json(response)
        said = _said(response, token)
        raise self._failure(response, status, said)

    def _json(self, response: "Response") -> object:
        if not response.content:
            return {}
        if len(response.content) > _MOST_BYTES:
            raise HostingRefusedError(f"{self._service.host!r} answered more than can be read")
        try:
            found: object = response.json()
        except ValueError:
            text = f"{self._service.host!r} answered something that is not JSON"
            raise HostingUnavailableError(text) from None
        return found

    def _failure(self, response: "Response", status: int, said: str) -> HostingError:
        host = self._service.host
        if (wait := _limit(response, said)) is not None:
            return HostingLimitedError(f"{host!r} limits requests: {said}", wait)
        if status >= 500:  # noqa: PLR2004
            return HostingUnavailableError(f"{host!r} answered {status}: {said}")
        if status in {409, 422}:
            return ConflictError(said)
        text = f"{host!r} answered {status}: {said}; {self._advice(status)}"
        return HostingRefusedError(text, status)

    def _advice(self, status: int) -> str:
        names = " or ".join(self._service.tokens)
        if status == 401:  # noqa: PLR2004
            return (
                "the token is wrong, expired or revoked: put a new one into the variable "
                f"{names}, or log in again with `gh` or `glab`, and start the workers again"
            )
        if status in {403, 404}:
            return (
                "the token may not do this, or the repository does not exist: it needs the right "
                "to write contents and pull requests of this repository"
            )
        return "check `hosting` in your own configuration"


def _hidden(text: str, token: str) -> str:
    return text.replace(token, "…") if token else text


def _limit(response: "Response", said: str) -> timedelta | None:
    """Return how long to wait if the service limits requests; None if it does not."""
    status, headers = response.status_code, response.headers
    left = headers.get("x-ratelimit-remaining", headers.get("ratelimit-remaining", ""))
    is_limit = status == 429 or (  # noqa: PLR2004
        status == 403  # noqa: PLR2004
        and (left == "0" or "retry-after" in headers or "rate limit" in said.lower())
    )
    if not is_limit:
        return None
    now = datetime.now(UTC)
    wait = retry_after(headers, now) or _reset(headers, now) or _WAIT
    return min(wait, _LONGEST)


def _reset(headers: Mapping[str, str], now: datetime) -> timedelta | None:
    text = headers.get("x-ratelimit-reset", headers.get("ratelimit-reset", ""))
    if not text.isdigit():
        return None
    wait = datetime.fromtimestamp(min(int(text), 1 << 33), UTC) - now
    return wait if wait > timedelta(0) else None


def _said(response: "Response", token: str) -> str:
    """Return the service's own words without the token: those in its JSON."""
    try:
        found: object = response.json()
    except ValueError:
        found = response.text
    whole = _hidden(" ".join(_words(found)), token)
    return without_key_like(whole[:_TEXT]) or response.reason_phrase


def _words(found: object) -> list[str]:
    if isinstance(found, str):
        return [found]
    if is_list(found):
        return [word for each in found for word in _words(each)]
    if is_table(found):
        told = [found[key] for key in ("message", "error", "errors") if key in found]
        values = told or list(found.values())
        return [word for each in values for word in _words(each)]
    return []
