"""What passes is what was sent: every byte, status and header, piece by piece, in both ways."""

import asyncio
import gzip
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest

from activities.adapters.http_listener import Listening
from activities.adapters.models.simulator.recording.captured_answer import MOST_BYTES, Captured
from activities.adapters.models.simulator.recording.recording_proxy import Asked, Proxy
from activities.adapters.models.simulator.recording.upstreams import Destination, Upstreams
from tests.effort import pairs
from tests.unit.activities.adapters.models.simulator.recording.studio import (
    AT_ONCE,
    HEADERS,
    STREAMED,
    Studio,
)
from tests.waiting import PATIENCE, until

pytestmark = pytest.mark.asyncio(loop_scope="module")

BODIES: dict[str, dict[str, Any]] = {**AT_ONCE, **STREAMED}
TURNS = {
    "an answer": "{text: Hello there., calls: [{bash: {command: ls}}]}",
    "a rate limit": "{error: {kind: rate_limited, retry_after: 7}}",
    "an overload": "{error: {kind: unavailable}}",
    "an overflow": "{error: {kind: context_overflow}}",
}


async def raw(url: str, path: str, body: dict[str, Any]) -> tuple[int, list[Any], bytes]:
    async with (
        httpx2.AsyncClient(trust_env=False, timeout=PATIENCE) as client,
        client.stream("POST", url + path, json=body, headers=HEADERS) as response,
    ):
        pieces = [piece async for piece in response.aiter_raw()]
        return response.status_code, sorted(response.headers.raw), b"".join(pieces)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("turn", "path"), pairs([*TURNS], [*BODIES]))
async def test_an_answer_passes_unchanged(studio: Studio, path: str, turn: str) -> None:
    body = BODIES[path]
    studio.begin(TURNS[turn])
    direct = await raw(studio.simulator.url, path, body)
    studio.begin(TURNS[turn])
    assert await raw(studio.url, path, body) == direct
    await until(lambda: len(studio.passed) == 1, "it is noted")


@pytest.mark.slow
async def test_a_stream_passes_piece_by_piece_and_its_end_is_the_callers(studio: Studio) -> None:
    """The provider never ends this one: what came is there, and leaving it leaves the provider."""
    studio.begin("{text: Hello there., error: {kind: stall, at: end}}")
    async with (
        httpx2.AsyncClient(trust_env=False, timeout=PATIENCE) as client,
        client.stream(
            "POST", studio.url + "/v1/messages", json=STREAMED["/v1/messages"], headers=HEADERS
        ) as response,
    ):
        seen = b""
        async for piece in response.aiter_raw():
            seen += piece
            if b"content_block_stop" in seen and b"text_delta" in seen:
                break
        assert studio.passed == []
    await until(lambda: len(studio.passed) == 1, "the provider is left")
    assert studio.passed[0][2].ending == "left"
    await studio.transcript.take(*studio.passed[0])
    assert "its caller left before the answer was whole" in studio.warnings[0]
    assert studio.transcript.takes.playbook() is None


async def test_a_break_is_passed_on(studio: Studio) -> None:
    studio.begin("{text: Hello there., error: {kind: disconnect, at: end}}")
    with pytest.raises(httpx2.RemoteProtocolError):
        await raw(studio.url, "/v1/messages", STREAMED["/v1/messages"])
    await until(lambda: len(studio.passed) == 1, "it is noted")
    assert studio.passed[0][2].ending == "broken"


# --- servers that no playbook plays ---------------------------------------------------------------

App = Callable[[Any, Any, Any], Awaitable[None]]


class Way:
    """A way to an application of the test's own."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.passed: list[tuple[Asked, Destination, Captured]] = []

    def meet(self, asked: Asked) -> None:
        self.met = asked

    def note(self, *passed: Any) -> None:
        self.passed.append(passed)


@asynccontextmanager
async def way_to(app: App) -> AsyncGenerator[Way]:
    async with Listening(app) as upstream:
        way = Way(upstream.url)
        proxy = Proxy(Upstreams({"openai": upstream.url}), way.meet, way.note, trust_env=False)
        async with Listening(proxy) as listening:
            way.url = listening.url
            yield way
        await proxy.aclose()


async def test_a_request_passes_unchanged_and_answers_stay_encoded() -> None:
    packed = gzip.compress(b'{"ok": true}')
    seen: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        message = await receive()
        seen.append((scope["raw_path"], scope["query_string"], scope["headers"], message["body"]))
        headers = [(b"content-encoding", b"gzip"), (b"x-twice", b"1"), (b"x-twice", b"2")]
        await send({"type": "http.response.start", "status": 299, "headers": headers})
        await send({"type": "http.response.body", "body": packed})

    body = b'{"a": \xc3\xa9}  '
    headers = [(b"accept-encoding", b"gzip"), (b"x-odd", b"caf\xe9"), (b"user-agent", b"me/1")]
    async with way_to(app) as way:
        client = httpx2.AsyncClient(trust_env=False, timeout=PATIENCE)
        request = httpx2.Request(
            "PUT", f"{way.url}/v1/x%2Fy?a=%20b&a=c", headers=headers, content=body
        )
        response = await client.send(request, stream=True)
        pieces = [piece async for piece in response.aiter_raw()]
        await client.aclose()
    assert (response.status_code, b"".join(pieces)) == (299, packed)
    assert [v for k, v in response.headers.raw if k == b"x-twice"] == [b"1", b"2"]
    ((path, query, got, sent),) = seen
    assert (path, query, sent) == (b"/x%2Fy", b"a=%20b&a=c", body)
    assert [each for each in got if each[0] not in {b"host", b"content-length"}] == headers


@pytest.mark.parametrize(("more", "ending"), [(0, "whole"), (1, "too_long")])
async def test_an_answer_that_is_too_long_passes_and_is_not_kept(more: int, ending: str) -> None:
    pieces = [b"x" * (MOST_BYTES // 2)] * 2 + [b"y" * more] * 2

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for piece in pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    async with way_to(app) as way:
        _, _, answer = await raw(way.url, "/openai/v1/responses", {})
        await until(lambda: len(way.passed) == 1, "it is noted")
    assert answer == b"".join(pieces)
    captured = way.passed[0][2]
    assert captured.ending == ending
    assert sum(map(len, captured.chunks)) == (0 if more else MOST_BYTES)


async def test_a_path_of_no_provider_is_refused_by_its_name() -> None:
    proxy = Proxy(Upstreams({}), print, print, trust_env=False)
    async with (
        Listening(proxy) as listening,
        httpx2.AsyncClient(trust_env=False, timeout=PATIENCE) as client,
    ):
        answer = await client.get(listening.url + "/v1/models")
    assert answer.status_code == 404
    assert "no provider is known for '/v1/models'; name it by --to" in answer.text


async def test_a_provider_that_says_nothing_at_all_may_have_billed() -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        port = deaf.getsockname()[1]
        noted: list[Captured] = []
        proxy = Proxy(
            Upstreams({"openai": f"http://127.0.0.1:{port}"}),
            lambda _: None,
            lambda _asked, _to, captured: noted.append(captured),
            trust_env=False,
        )

        async def hang_up() -> None:
            loop = asyncio.get_running_loop()
            deaf.setblocking(False)
            connection, _ = await loop.sock_accept(deaf)
            connection.close()

        async with (
            Listening(proxy) as listening,
            httpx2.AsyncClient(trust_env=False, timeout=PATIENCE) as client,
        ):
            hanging = asyncio.create_task(hang_up())
            answer = await client.post(listening.url + "/v1/responses", json={})
            await hanging
        await proxy.aclose()
    assert answer.status_code == 504
    assert "gave no answer" in answer.text
    assert noted[0].status == 504
