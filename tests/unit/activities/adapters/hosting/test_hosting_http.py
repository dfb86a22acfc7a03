"""What is told of a service's words: never the token, and no part of it."""

import httpx2
import pytest

from activities.adapters.hosting.github import headers
from activities.adapters.hosting.hosting_http import ConflictError, HostingHttp
from activities.ports.land.hosting_entries import HostingEntry
from activities.ports.land.hosting_port import (
    HostingError,
    HostingLimitedError,
    HostingRefusedError,
)

TOKEN = "wq7Yz-plain-looking-token-0123456789"


async def asked(status: int, answer: dict[str, object]) -> object:
    """Ask a service that gives this answer."""
    wire = httpx2.MockTransport(lambda _: httpx2.Response(status, json=answer))
    service = HostingEntry(repositories=("*",), api="github", url="https://git.example").at("git")

    async def token() -> str:
        return TOKEN

    http = HostingHttp(service, token, headers, wire)
    return await http.get("/repos/acme/shop/pulls")


async def told(status: int, answer: dict[str, object]) -> str:
    """Return what is told of an answer."""
    with pytest.raises((HostingError, ConflictError)) as caught:
        await asked(status, answer)
    return str(caught.value)


@pytest.mark.parametrize("before", [0, 260, 270, 280, 295, 299])
@pytest.mark.parametrize("status", [401, 422, 500])
async def test_a_token_at_the_cut_of_a_long_answer_is_replaced_before_it_is_cut(
    before: int, status: int
) -> None:
    text = await told(status, {"message": f"{'x' * before}{TOKEN} is not valid"})
    parts = [TOKEN[:length] for length in range(4, len(TOKEN) + 1)]
    assert not [part for part in parts if part in text]


async def test_a_limit_that_only_its_text_tells_is_waited_for() -> None:
    """GitHub's secondary limit may come without `retry-after`."""
    text = "You have exceeded a secondary rate limit. Please wait a few minutes."
    with pytest.raises(HostingLimitedError) as caught:
        await asked(403, {"message": text})
    assert caught.value.wait.total_seconds() == 60
    with pytest.raises(HostingRefusedError):
        await asked(403, {"message": "Resource not accessible by personal access token"})


async def test_redirections_are_not_followed() -> None:
    asked: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(str(request.url))
        return httpx2.Response(302, headers={"location": "https://elsewhere.example/"})

    service = HostingEntry(repositories=("*",), api="github", url="https://git.example").at("git")

    async def token() -> str:
        return TOKEN

    http = HostingHttp(service, token, headers, httpx2.MockTransport(answer))
    with pytest.raises(HostingRefusedError):
        await http.get("/user")
    assert asked == ["https://git.example/user"]
