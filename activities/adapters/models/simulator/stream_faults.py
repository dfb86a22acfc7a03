"""How the simulator sends a stream, and how it spoils one if the playbook says so.

| fault        | what is sent                                        | how the stream ends     |
|--------------|-----------------------------------------------------|-------------------------|
| `cut`        | all before its place                                | in order, but too early |
| `disconnect` | all before its place                                | the connection breaks   |
| `corrupt`    | all, but the event at its place is not JSON          | in order                |
| `stall`      | all before its place                                | not at all              |
| an error     | all before its place, and then the error as event   | in order                |

The places are `start` (before the first event), `text` and `arguments` (after the first event of
that part, or inside it if it is the only one), `end` (before the event that ends the answer) and,
if none is named, the middle.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from activities.adapters.models.scripted.playbook import ScriptedError
from activities.adapters.models.simulator.stream_events import Frame

if TYPE_CHECKING:
    from starlette.responses import Response
    from starlette.types import Receive, Scope, Send


class Script(NamedTuple):
    """What one stream sends."""

    chunks: Sequence[bytes]
    ending: Literal["orderly", "broken", "never"] = "orderly"


def play(frames: Sequence[Frame], error: ScriptedError | None, told: Frame | None) -> Script:
    """Return what to send for an answer, with its fault if it has one.

    Args:
        frames: the whole answer.
        error: the fault; None: none.
        told: the error's event, if it is an error of the provider.
    """
    whole = [frame.encode() for frame in frames]
    if error is None:
        return Script(whole)
    at, piece = _place(frames, error.at)
    before = [*whole[:at], *([piece] if piece else [])]
    if told is not None:
        # A separate event, so it never follows half of another.
        return Script([*whole[:at], told.encode()])
    match error.kind:
        case "corrupt":
            return Script([*whole[:at], _spoilt(whole[at]), *whole[at + 1 :]])
        case "disconnect":
            return Script(before, "broken")
        case "stall":
            return Script(before, "never")
        case _:
            return Script(before)


def _place(frames: Sequence[Frame], at: str | None) -> tuple[int, bytes]:
    """Return how many events come whole, and the half of an event that follows them."""
    if at == "start":
        return 0, b""
    places = [index for index, frame in enumerate(frames) if frame.part == at]
    if not places:
        return len(frames) // 2, b""
    if at == "end" or len(places) > 1:
        return places[0] + (at != "end"), b""
    only = frames[places[0]].encode()
    return places[0], only[: len(only) // 2]


def _spoilt(event: bytes) -> bytes:
    """Keep the event's frame, but break its JSON."""
    head, _, data = event.partition(b"data: ")
    return head + b"data: " + data.strip()[:-2].replace(b":", b"", 1) + b"\n\n"


def stream_response(script: Script, headers: Mapping[str, str], pause_s: float) -> "Response":
    """Build the response that sends a script.

    Args:
        script: what to send.
        headers: besides the content type.
        pause_s: the delay before each event except the first.
    """
    from starlette.responses import Response

    class _Stream(Response):
        async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
            del scope
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            for number, chunk in enumerate(script.chunks):
                await asyncio.sleep(pause_s if number else 0)
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
            if script.ending == "never":
                while (await receive())["type"] != "http.disconnect":
                    pass
            if script.ending == "orderly":
                await send({"type": "http.response.body", "body": b"", "more_body": False})

    response = _Stream(media_type="text/event-stream", headers=dict(headers))
    del response.headers["content-length"]
    return response
