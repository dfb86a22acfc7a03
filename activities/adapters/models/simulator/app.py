"""The simulator's HTTP application: one way for every dialect from request to answer.

`GET /_simulator/requests` lists what was asked. Nothing is kept beyond the process.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from activities.adapters.models.simulator.anthropic import AnthropicDialect
from activities.adapters.models.simulator.chat import ChatDialect
from activities.adapters.models.simulator.dialect import (
    Dialect,
    Failure,
    RefusedError,
    WireRequest,
    mark,
)
from activities.adapters.models.simulator.gemini import GeminiDialect
from activities.adapters.models.simulator.openai import OpenAIDialect
from activities.adapters.models.wire import Json, table
from activities.playbook import (
    Place,
    Playbook,
    PlaybookError,
    ScriptedError,
    answer,
    locate,
)

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

WRONG_KEY = "wrong"
"""A key that begins so is refused, as an empty one is."""


class Log:
    """What was asked, in order."""

    def __init__(self) -> None:
        self.entries: list[Json] = []

    def add(self, dialect: str, model: str, place: Place | None, **more: Any) -> None:
        """Note one request and how it ended."""
        where: Json = {} if place is None else place._asdict()
        self.entries.append({"dialect": dialect, "model": model, **where, **more})

    def counts(self) -> list[Json]:
        """Count requests for each role, task, attempt and turn."""
        keys = ("role", "task", "attempt", "turn", "is_compaction")
        placed = [tuple(e[key] for key in keys) for e in self.entries if "role" in e]
        return [
            dict(zip(keys, place, strict=True)) | {"count": number}
            for place, number in Counter(placed).items()
        ]


class SimulatedProviders:
    """Answers requests of every dialect by one playbook."""

    def __init__(self, playbook: Playbook) -> None:
        """Args: what the simulated models say."""
        self.play(playbook)

    def play(self, playbook: Playbook) -> None:
        """Answer by another playbook from now on; the log and all counts begin anew."""
        self._playbook = playbook
        self._asked: Counter[Place] = Counter()
        self.log = Log()

    async def respond(
        self, dialect: Dialect, raw: bytes, headers: Mapping[str, str], model: str = ""
    ) -> "Response":
        """Answer one request of a dialect, after the playbook's latency."""
        from starlette.responses import JSONResponse, Response

        latency_s, body, failure = self._outcome(dialect, raw, headers, model)
        await asyncio.sleep(latency_s)
        limits = dialect.limits(len(self.log.entries))
        if failure is None:
            # Plain ASCII: a playbook may hold half of a surrogate pair, as real answers do.
            whole = json.dumps(body | {"simulated": True})
            return Response(whole, media_type="application/json", headers=dict(limits))
        if failure.status == 0:
            return cut_response(json.dumps(body).encode())
        extra = dict(limits) | dict(failure.headers)
        return JSONResponse(failure.body, failure.status, headers=extra)

    def _outcome(
        self, dialect: Dialect, raw: bytes, headers: Mapping[str, str], model: str
    ) -> tuple[float, Json, Failure | None]:
        place: Place | None = None
        try:
            if not dialect.key(headers) or dialect.key(headers).startswith(WRONG_KEY):
                self.log.add(dialect.name, model, None, outcome="auth")
                return 0, {}, dialect.fail(ScriptedError(kind="auth"), "")
            request = dialect.read(_body(raw))
            model = model or request.model
            place = locate(request.conversation)
            _check_stamps(request, place)
            spoken = answer(self._playbook, request.conversation, self._asked[place])
        except (RefusedError, PlaybookError) as error:
            self.log.add(dialect.name, model, place, outcome="invalid", why=str(error))
            return 0, {}, dialect.fail(ScriptedError(kind="invalid"), f"simulator: {error}")
        self._asked[place] += 1
        outcome = spoken.error.kind if spoken.error else spoken.stop
        self.log.add(dialect.name, model, place, outcome=outcome, signatures=len(request.stamps))
        body = dialect.render(spoken, place, model)
        if spoken.error is None:
            return spoken.latency_s, body, None
        if spoken.error.kind == "cut":
            return spoken.latency_s, body, Failure(0, {})
        return spoken.latency_s, body, dialect.fail(spoken.error, "")


def cut_response(whole: bytes) -> "Response":
    """Promise the whole body, send half of it, and close the connection."""
    from starlette.responses import Response

    class _Cut(Response):
        async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
            del scope, receive
            length = str(len(whole)).encode()
            headers = [(b"content-type", b"application/json"), (b"content-length", length)]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            half = whole[: len(whole) // 2]
            await send({"type": "http.response.body", "body": half, "more_body": True})

    return _Cut()


def make_app(providers: SimulatedProviders) -> "Starlette":
    """Build the application."""
    from starlette.applications import Starlette
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    def speak(dialect: Dialect) -> "Callable[[Request], Awaitable[Response]]":
        async def endpoint(request: "Request") -> "Response":
            model = str(request.path_params.get("model", ""))
            return await providers.respond(dialect, await request.body(), request.headers, model)

        return endpoint

    async def models(_: "Request") -> "Response":
        return JSONResponse(_models())

    async def requests(_: "Request") -> "Response":
        log = providers.log
        return JSONResponse({"schema": 1, "counts": log.counts(), "requests": log.entries})

    return Starlette(
        routes=[
            Route("/v1/messages", speak(AnthropicDialect()), methods=["POST"]),
            Route("/v1/responses", speak(OpenAIDialect()), methods=["POST"]),
            Route("/v1/chat/completions", speak(ChatDialect()), methods=["POST"]),
            Route("/v1/models/{model}:generateContent", speak(GeminiDialect()), methods=["POST"]),
            Route(
                "/v1beta/models/{model}:generateContent", speak(GeminiDialect()), methods=["POST"]
            ),
            Route("/v1/models", models),
            Route("/v1beta/models", models),
            Route("/_simulator/requests", requests),
        ]
    )


def _body(raw: bytes) -> Json:
    try:
        value: Any = json.loads(raw)
        json.dumps(value, ensure_ascii=False).encode()
    except ValueError:
        raise RefusedError("the request body is not valid JSON in UTF-8") from None
    return table(value)


def _check_stamps(request: WireRequest, place: Place) -> None:
    """Each signature must stand on the turn that it was given for."""
    spoken = sum(message.role == "assistant" for message in request.conversation)
    for index, says in request.stamps:
        expected = mark(place._replace(turn=place.turn - spoken + index))
        if says != expected:
            raise RefusedError(f"the signature of {says!r} came back at {expected!r}")


def _models() -> Json:
    """Name one model, in every provider's shape at once."""
    listed = {"id": "simulated", "object": "model", "type": "model", "display_name": "Simulated"}
    return {
        "object": "list",
        "data": [listed | {"created": 0, "created_at": "2026-01-01T00:00:00Z"}],
        "has_more": False,
        "models": [{"name": "models/simulated", "displayName": "Simulated"}],
    }
