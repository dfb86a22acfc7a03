"""The simulator's HTTP application: one path from request to answer for every dialect.

`GET /_simulator/requests` lists the requests. Nothing is kept beyond the process.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from activities.adapters.models.scripted.answer_choice import (
    Place,
    PlaybookError,
    ScriptedAnswer,
    answer,
    locate,
)
from activities.adapters.models.scripted.playbook import STREAM_FAULTS, Playbook, ScriptedError
from activities.adapters.models.simulator.chat_dialect import ChatDialect
from activities.adapters.models.simulator.dialect import (
    Dialect,
    Failure,
    RefusedError,
    WireRequest,
    mark,
)
from activities.adapters.models.simulator.gemini_dialect import GeminiDialect
from activities.adapters.models.simulator.messages_dialect import AnthropicDialect
from activities.adapters.models.simulator.responses_dialect import OpenAIDialect
from activities.adapters.models.simulator.stream_events import FRAMES, error_frame
from activities.adapters.models.simulator.stream_faults import play, stream_response
from activities.adapters.models.simulator.structured_answer import structured_answer
from activities.text.foreign_json import Json, table

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import Receive, Scope, Send

WRONG_KEY = "wrong"
"""Keys with this prefix are refused, as is an empty key."""
_STREAMED = "streamGenerateContent"
_BESIDE = Place(role="structured", task=None, attempt=1, turn=1)
"""The place of an answer that belongs to no conversation."""


class Log:
    """The requests, in order."""

    def __init__(self) -> None:
        self.entries: list[Json] = []
        self._places: Counter[Place] = Counter()

    def add(
        self, dialect: str, model: str, place: Place | None, outcome: str, **more: object
    ) -> None:
        """Record one request, its agent and turn if it names them, and its outcome."""
        entry: Json = {"dialect": dialect, "model": model, "outcome": outcome, **more}
        if place is not None:
            self._places[place] += 1
            entry |= place._asdict()
        self.entries.append(entry)

    def counts(self) -> list[Json]:
        """Count requests for each role, task, attempt and turn."""
        return [{**place._asdict(), "count": number} for place, number in self._places.items()]


class RawAnswer(NamedTuple):
    """An answer outside the playbook, sent as it is."""

    status: int
    body: object
    """JSON, or text sent as it is."""
    headers: Mapping[str, str] = {}


class SimulatedProviders:
    """Answers requests of every dialect from one playbook."""

    def __init__(self, playbook: Playbook) -> None:
        """Args: the playbook."""
        self.play(playbook)

    def play(self, playbook: Playbook) -> None:
        """Answer from another playbook from now on; the log and all counts restart."""
        self._playbook = playbook
        self._asked: Counter[Place] = Counter()
        self._raw: list[RawAnswer] = []
        self.log = Log()

    def interject(self, raw: RawAnswer) -> None:
        """Answer the next request with this, whatever it asks; the play does not advance."""
        self._raw.append(raw)

    async def respond(
        self, dialect: Dialect, raw: bytes, headers: Mapping[str, str], path: Mapping[str, str]
    ) -> "Response":
        """Answer one request of a dialect, after the playbook's latency.

        Args:
            dialect: the wire format.
            raw: the request's body.
            headers: the request's.
            path: the path's `model`, and its `verb` if that asks for a stream.
        """
        from starlette.responses import JSONResponse, Response

        if self._raw:
            return self._say(self._raw.pop(0), dialect)
        spoken, body, failure = self._outcome(dialect, raw, headers, path.get("model", ""))
        is_streamed = path.get("verb") == _STREAMED or _asks_for_stream(raw)
        limits = dialect.limits(len(self.log.entries))
        if spoken is not None:
            await asyncio.sleep(spoken.latency_s)
            if is_streamed and dialect.name in FRAMES and _is_in_stream(spoken.error):
                return self._stream(dialect, spoken, body, limits)
        if failure is not None and failure.status:
            extra = dict(limits) | dict(failure.headers)
            return JSONResponse(failure.body, failure.status, headers=extra)
        if failure is not None:
            return cut_response(json.dumps(body).encode())
        # Plain ASCII: a playbook may hold half of a surrogate pair, as real answers do.
        whole = json.dumps(body)
        return Response(whole, media_type="application/json", headers=dict(limits))

    def _say(self, raw: RawAnswer, dialect: Dialect) -> "Response":
        from starlette.responses import Response

        self.log.add(dialect.name, "", None, outcome="raw")
        said = raw.body if isinstance(raw.body, str) else json.dumps(raw.body)
        return Response(said, raw.status, headers=dict(raw.headers))

    def _stream(
        self, dialect: Dialect, spoken: ScriptedAnswer, body: Json, limits: Mapping[str, str]
    ) -> "Response":
        told = None
        if spoken.error is not None and spoken.error.kind not in STREAM_FAULTS:
            told = error_frame(dialect.name, dialect.fail(spoken.error, "").body)
        script = play(list(FRAMES[dialect.name](body)), spoken.error, told)
        return stream_response(script, limits, spoken.chunk_latency_s)

    def _outcome(
        self, dialect: Dialect, raw: bytes, headers: Mapping[str, str], model: str
    ) -> tuple[ScriptedAnswer | None, Json, Failure | None]:
        place: Place | None = None
        try:
            if not dialect.key(headers) or dialect.key(headers).startswith(WRONG_KEY):
                self.log.add(dialect.name, model, None, outcome="auth")
                return None, {}, dialect.fail(ScriptedError(kind="auth"), "")
            request = dialect.read(_body(raw))
            request = request._replace(model=model or request.model)
            model = request.model
            if request.schema is not None:
                return self._fill(dialect, request, request.schema)
            place = locate(request.conversation)
            _check_stamps(request, place)
            spoken = answer(self._playbook, request.conversation, self._asked[place])
        except (RefusedError, PlaybookError) as error:
            self.log.add(dialect.name, model, place, outcome="invalid", why=str(error))
            return None, {}, dialect.fail(ScriptedError(kind="invalid"), f"simulator: {error}")
        self._asked[place] += 1
        outcome = spoken.error.kind if spoken.error else spoken.stop
        self.log.add(dialect.name, model, place, outcome=outcome, signatures=len(request.stamps))
        body = dialect.render(spoken, place, request) | {"simulated": True}
        if spoken.error is None:
            return spoken, body, None
        if spoken.error.kind in STREAM_FAULTS:
            return spoken, body, Failure(0, {})
        return spoken, body, dialect.fail(spoken.error, "")

    def _fill(
        self, dialect: Dialect, request: WireRequest, schema: Json
    ) -> tuple[ScriptedAnswer, Json, None]:
        """Answer outside the playbook, which does not advance."""
        self.log.add(dialect.name, request.model, None, outcome="structured")
        spoken = structured_answer(schema)
        return spoken, dialect.render(spoken, _BESIDE, request) | {"simulated": True}, None


def _is_in_stream(error: ScriptedError | None) -> bool:
    """Say whether the answer begins as a stream, however it ends."""
    return error is None or error.at is not None or error.kind in STREAM_FAULTS


def cut_response(whole: bytes) -> "Response":
    """Promise the whole body, send half of it, and close the connection."""
    from starlette.responses import Response

    class _Cut(Response):
        async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
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
            path = request.path_params
            return await providers.respond(dialect, await request.body(), request.headers, path)

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
            Route("/v1/models/{model}:{verb}", speak(GeminiDialect()), methods=["POST"]),
            Route("/v1beta/models/{model}:{verb}", speak(GeminiDialect()), methods=["POST"]),
            Route("/v1/models", models),
            Route("/v1beta/models", models),
            Route("/_simulator/requests", requests),
        ]
    )


def _asks_for_stream(raw: bytes) -> bool:
    try:
        return _body(raw).get("stream") is True
    except RefusedError:
        return False


def _body(raw: bytes) -> Json:
    try:
        value: object = json.loads(raw)
        json.dumps(value, ensure_ascii=False).encode()
    except ValueError:
        raise RefusedError("the request body is not valid JSON in UTF-8") from None
    return table(value)


def _check_stamps(request: WireRequest, place: Place) -> None:
    """Each signature must be on the turn for which it was made."""
    spoken = sum(message.role == "assistant" for message in request.conversation)
    for index, says in request.stamps:
        expected = mark(place._replace(turn=place.turn - spoken + index))
        if says != expected:
            raise RefusedError(f"the signature of {says!r} came back at {expected!r}")


def _models() -> Json:
    """Name one model, in every provider's format at once."""
    listed = {"id": "simulated", "object": "model", "type": "model", "display_name": "Simulated"}
    return {
        "object": "list",
        "data": [listed | {"created": 0, "created_at": "2026-01-01T00:00:00Z"}],
        "has_more": False,
        "models": [{"name": "models/simulated", "displayName": "Simulated"}],
    }
