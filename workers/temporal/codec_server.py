"""A codec server: lets the Web UI show encrypted payloads, in the person's own browser.

Implements Temporal's protocol for remote codecs: `POST /encode` and `/decode` with `Payloads` as
JSON of protobuf, below a secret path: anyone who knows the path may ask. It follows from the keys,
so that the Web UI can keep it, and other users and processes of the machine cannot know it. A
browser must also name one of the given origins, so that no other page in it can ask.
"""

import hashlib
import hmac
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from google.protobuf import json_format
from temporalio.api.common.v1 import Payload, Payloads
from temporalio.converter import PayloadCodec

from workers.temporal.temporal_errors import PayloadUnreadableError

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

Transform = Callable[[Sequence[Payload]], Awaitable[list[Payload]]]

HOST = "127.0.0.1"
_SECRET_LETTERS = 32


def secret_path(keys: Mapping[str, bytes]) -> str:
    """Return the path's secret part for these keys, at least one; the first one decides."""
    key = next(iter(keys.values()))
    return hmac.new(key, b"blueflame codec server", hashlib.sha256).hexdigest()[:_SECRET_LETTERS]


def codec_app(codec: PayloadCodec, secret: str, origins: Sequence[str]) -> "Starlette":
    """Return the server's application.

    Args:
        codec: encodes and decodes.
        secret: the first part of the path; see `secret_path`.
        origins: those of the Web UIs that may ask, such as `http://127.0.0.1:8233`.
    """
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.middleware.cors import CORSMiddleware
    from starlette.routing import Route

    cors = Middleware(
        CORSMiddleware,
        allow_origins=list(origins),
        allow_methods=["POST"],
        allow_headers=["content-type", "x-namespace", "authorization"],
    )
    routes = [
        Route("/{secret}/encode", _endpoint(codec.encode, secret, origins), methods=["POST"]),
        Route("/{secret}/decode", _endpoint(codec.decode, secret, origins), methods=["POST"]),
    ]
    return Starlette(routes=routes, middleware=[cors])


def _endpoint(
    transform: Transform, secret: str, origins: Sequence[str]
) -> Callable[["Request"], Awaitable["Response"]]:
    async def answer(request: "Request") -> "Response":
        from starlette.responses import PlainTextResponse, Response

        given = request.path_params["secret"].encode()
        if not hmac.compare_digest(given, secret.encode()):
            text = "this is not the address that `blueflame codec` printed"
            return PlainTextResponse(text, status_code=403)
        if request.headers.get("origin", origins[0]) not in origins:
            named = ", ".join(origins)
            return PlainTextResponse(f"only pages of {named} may use this server", status_code=403)
        try:
            asked = json_format.Parse(await request.body(), Payloads())
            done = await transform(asked.payloads)
        except (json_format.ParseError, PayloadUnreadableError) as error:
            return PlainTextResponse(str(error), status_code=400)
        body = json_format.MessageToJson(Payloads(payloads=done))
        return Response(body, media_type="application/json")

    return answer


def listen(port: int) -> socket.socket:
    """Take the port: from now on, connections to it wait for `serve`.

    Raises:
        OSError: the port is not available.
    """
    return socket.create_server((HOST, port))


async def serve(
    codec: PayloadCodec, secret: str, origins: Sequence[str], listening: socket.socket
) -> None:
    """Serve on a socket of `listen` until the process is told to end."""
    from uvicorn import Config, Server

    config = Config(codec_app(codec, secret, origins), log_level="warning", lifespan="off")
    await Server(config).serve(sockets=[listening])
