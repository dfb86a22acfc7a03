"""The simulator's streams as any client sees them: each provider's own events, whole or spoilt."""

import json
from typing import Any

import httpx2
import pytest

from tests.unit.activities.adapters.models.wire import KEY, OPENING, Wire
from tests.waiting import PATIENCE

pytestmark = pytest.mark.asyncio(loop_scope="session")

USER = {"role": "user", "content": OPENING.text}
MESSAGES: dict[str, Any] = {"model": "m", "max_tokens": 9, "messages": [USER]}
RESPONSES: dict[str, Any] = {"model": "m", "input": [USER]}
CONTENTS: dict[str, Any] = {"contents": [{"role": "user", "parts": [{"text": OPENING.text}]}]}
PATHS = [
    ("/v1/messages", MESSAGES | {"stream": True}),
    ("/v1/responses", RESPONSES | {"stream": True}),
    ("/v1beta/models/m:streamGenerateContent?alt=sse", CONTENTS),
]
TURN = "{text: Hello there., calls: [{bash: {command: ls}}]"


async def streamed(wire: Wire, path: str, body: Any) -> tuple[httpx2.Response, str]:
    keys = {"x-api-key": KEY, "authorization": f"Bearer {KEY}", "x-goog-api-key": KEY}
    async with (
        httpx2.AsyncClient(
            base_url=wire.simulator.url, trust_env=False, timeout=PATIENCE
        ) as client,
        client.stream("POST", path, json=body, headers=keys) as response,
    ):
        return response, (await response.aread()).decode()


def names(text: str) -> list[str]:
    return [line[7:] for line in text.splitlines() if line.startswith("event: ")]


def data(text: str) -> list[Any]:
    return [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]


@pytest.mark.parametrize(("path", "body"), PATHS)
async def test_a_stream_says_what_it_is(wire: Wire, path: str, body: Any) -> None:
    wire.play(TURN + "}")
    response, text = await streamed(wire, path, body)
    assert response.headers["content-type"].startswith("text/event-stream")
    assert '"simulated": true' in text
    assert "Hell" in text


async def test_the_events_of_a_message(wire: Wire) -> None:
    wire.play(TURN + "}")
    _, text = await streamed(wire, *PATHS[0])
    assert names(text)[:3] == ["message_start", "ping", "content_block_start"]
    assert names(text)[-2:] == ["message_delta", "message_stop"]
    assert [each["type"] for each in data(text)] == names(text)
    deltas = [each["delta"] for each in data(text) if each["type"] == "content_block_delta"]
    pieces = [delta["text"] for delta in deltas if delta["type"] == "text_delta"]
    assert "".join(pieces) == "Hello there."
    assert len(pieces) > 1


async def test_the_events_of_a_response(wire: Wire) -> None:
    wire.play(TURN + "}")
    _, text = await streamed(wire, *PATHS[1])
    assert names(text)[:2] == ["response.created", "response.in_progress"]
    assert names(text)[-1] == "response.completed"
    assert [each["sequence_number"] for each in data(text)] == list(range(len(names(text))))
    arguments = [
        each["delta"]
        for each in data(text)
        if each["type"] == "response.function_call_arguments.delta"
    ]
    assert json.loads("".join(arguments)) == {"command": "ls"}


async def test_the_chunks_of_gemini_have_no_names(wire: Wire) -> None:
    wire.play(TURN + "}")
    _, text = await streamed(wire, *PATHS[2])
    assert names(text) == []
    reasons = [each["candidates"][0].get("finishReason") for each in data(text)]
    assert reasons == [*[None] * (len(reasons) - 1), "STOP"]


@pytest.mark.parametrize(("path", "body"), PATHS)
async def test_a_cut_ends_in_order_and_a_disconnect_does_not(
    wire: Wire, path: str, body: Any
) -> None:
    wire.play(TURN + ", error: {kind: cut, at: end}}")
    _, text = await streamed(wire, path, body)
    assert "Hell" in text
    assert not any(end in text for end in ("message_stop", "response.completed", "finishReason"))
    wire.play(TURN + ", error: {kind: disconnect, at: end}}")
    with pytest.raises(httpx2.RemoteProtocolError):
        await streamed(wire, path, body)


@pytest.mark.parametrize(("path", "body"), PATHS)
async def test_before_the_first_event_nothing_is_said(wire: Wire, path: str, body: Any) -> None:
    wire.play(TURN + ", error: {kind: cut, at: start}}")
    response, text = await streamed(wire, path, body)
    assert (response.status_code, text) == (200, "")


@pytest.mark.parametrize(("path", "body"), PATHS)
async def test_a_corrupt_event_is_one_of_many(wire: Wire, path: str, body: Any) -> None:
    wire.play(TURN + ", error: {kind: corrupt, at: text}}")
    _, text = await streamed(wire, path, body)
    spoilt = 0
    for line in text.splitlines():
        if line.startswith("data: "):
            try:
                json.loads(line[6:])
            except ValueError:
                spoilt += 1
    assert spoilt == 1


@pytest.mark.parametrize("kind", ["cut", "disconnect", "corrupt", "stall"])
async def test_without_a_stream_every_fault_breaks_the_answer(wire: Wire, kind: str) -> None:
    wire.play(f"{{error: {{kind: {kind}}}}}")
    with pytest.raises(httpx2.RemoteProtocolError):
        await streamed(wire, "/v1/messages", MESSAGES)


@pytest.mark.parametrize(("path", "body"), PATHS)
async def test_an_error_may_come_before_the_stream(wire: Wire, path: str, body: Any) -> None:
    wire.play("{error: {kind: unavailable}}")
    response, text = await streamed(wire, path, body)
    assert response.status_code in {503, 529}
    assert "error" in json.loads(text)
