"""A codec server: lets the Web UI show encrypted payloads, in the person's own browser.

Implements Temporal's protocol for remote codecs: `POST /encode` and `/decode` with `Payloads` as
JSON of protobuf. It listens only on the loopback interface and answers only pages of the given
origins: otherwise any other page in the same browser could have a person's payloads decrypted.
"""

from collections.abc import Awaitable, Callable, Sequence
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


def codec_app(codec: PayloadCodec, origins: Sequence[str]) -> "Starlette":
    """Return the server's application.

    Args:
        codec: encodes and decodes.
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
        Route("/encode", _endpoint(codec.encode, origins), methods=["POST"]),
        Route("/decode", _endpoint(codec.decode, origins), methods=["POST"]),
    ]
    return Starlette(routes=routes, middleware=[cors])


def _endpoint(
    transform: Transform, origins: Sequence[str]
) -> Callable[["Request"], Awaitable["Response"]]:
    async def answer(request: "Request") -> "Response":
        from starlette.responses import PlainTextResponse, Response

        if request.headers.get("origin") not in origins:
            named = ", ".join(origins)
            return PlainTextResponse(f"only pages of {named} may ask", status_code=403)
        try:
            asked = json_format.Parse(await request.body(), Payloads())
            done = await transform(asked.payloads)
        except (json_format.ParseError, PayloadUnreadableError) as error:
            return PlainTextResponse(str(error), status_code=400)
        body = json_format.MessageToJson(Payloads(payloads=done))
        return Response(body, media_type="application/json")

    return answer


async def serve(codec: PayloadCodec, origins: Sequence[str], port: int) -> None:
    """Serve until the process is told to end.

    Raises:
        OSError: the port is not available.
    """
    import socket

    from uvicorn import Config, Server

    with socket.create_server((HOST, port)) as listening:
        config = Config(codec_app(codec, origins), log_level="warning", lifespan="off")
        await Server(config).serve(sockets=[listening])
