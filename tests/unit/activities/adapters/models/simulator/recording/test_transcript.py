"""What is taken down of calls that pass, and what is said of those that cannot be."""

import base64
import gzip
import json
from collections.abc import Callable
from urllib.parse import quote

import httpx2
import pytest

from activities.adapters.models.scripted.playbook import ScriptedCall, ScriptedError, ScriptedUsage
from activities.adapters.models.simulator.recording.answer_reader import Hearing
from activities.adapters.models.simulator.recording.captured_answer import Captured
from activities.adapters.models.simulator.recording.transcript import Keeping
from activities.adapters.models.simulator.simulator_app import RawAnswer
from activities.ports.endpoints import Abilities
from activities.ports.model_provider import ModelReply, ProviderUnavailableError
from tests.effort import pairs
from tests.unit.activities.adapters.models.simulator.recording.studio import (
    AT_ONCE,
    HEADERS,
    USER,
    Studio,
)
from tests.unit.activities.adapters.models.wire import (
    KEY,
    OPENING,
    PROVIDERS,
    Handmade,
    answered,
    ask,
    events,
    play,
    registry,
)
from tests.waiting import PATIENCE, until
from workflows.domain.agent.messages import UserMessage
from workflows.domain.agent.model_values import Provider
from workflows.policy.agent.opening_messages import COMPACTION

pytestmark = pytest.mark.asyncio(loop_scope="module")

ANSWER = "{text: Hello., calls: [{bash: {command: ls}}]}"
JSON = {"content-type": "application/json"}
STREAM = {"content-type": "text/event-stream"}


async def test_turns_stand_where_they_were_spoken(studio: Studio, provider: Provider) -> None:
    studio.begin(ANSWER, "{text: Done.}")
    first = await studio.answer(provider)
    await studio.answer(provider, OPENING, *answered(first, "a.py"))
    (scene,) = (await studio.taken_down(2)).scenes
    where = (scene.role, scene.task, scene.attempt, scene.turn)
    assert where == ("developer", "parse-dates", 1, None)
    one, two = scene.turns
    call = ScriptedCall(name="bash", arguments={"command": "ls"})
    assert (one.text, one.calls) == ("Hello.", (call,))
    assert one.usage == ScriptedUsage(input_tokens=100, output_tokens=20)
    assert (two.text, two.calls, two.stop) == ("Done.", (), None)
    assert studio.warnings == []


async def test_who_comes_late_says_from_which_turn_on(studio: Studio, provider: Provider) -> None:
    studio.begin(ANSWER, "{text: Late.}")
    first = await studio.answer(provider, direct=True)
    await studio.answer(provider, OPENING, *answered(first, "a.py"))
    (scene,) = (await studio.taken_down(1)).scenes
    assert (scene.turn, [turn.text for turn in scene.turns]) == (2, ["Late."])
    assert [place.turn for place in studio.transcript.takes.unheard()] == [1]


FAILURES = {
    "{kind: rate_limited, retry_after: 7}": ScriptedError(kind="rate_limited", retry_after=7),
    "{kind: unavailable}": ScriptedError(kind="unavailable"),
    "{kind: auth}": ScriptedError(kind="auth"),
    "{kind: credit}": ScriptedError(kind="credit"),
    "{kind: context_overflow}": ScriptedError(kind="context_overflow"),
    "{kind: invalid}": ScriptedError(kind="invalid"),
    "{kind: cut, at: end}": ScriptedError(kind="cut"),
    "{kind: corrupt, at: text}": ScriptedError(kind="cut"),
    "{kind: disconnect, at: text}": ScriptedError(kind="disconnect"),
    "{kind: context_overflow, at: text}": ScriptedError(kind="context_overflow"),
}


@pytest.mark.parametrize(("provider", "failure"), pairs(PROVIDERS, [*FAILURES]))
async def test_failures_come_before_the_answer_so_many_times(
    studio: Studio, provider: Provider, failure: str
) -> None:
    error = failure.replace("}", ", times: 2}")
    studio.begin(ANSWER.replace("}]}", f"}}], error: {error}}}"))
    for _ in range(3):
        await studio.call(provider)
    (turn,) = await studio.turns(3)
    assert turn.text == "Hello."
    assert turn.error == FAILURES[failure].model_copy(update={"times": 2})


async def test_a_turn_that_failed_each_time_fails_in_a_replay(
    studio: Studio, provider: Provider
) -> None:
    studio.begin("{error: {kind: unavailable}}")
    for _ in range(2):
        await studio.call(provider)
    (turn,) = await studio.turns(2)
    assert turn.error == ScriptedError(kind="unavailable")
    places = [str(place) for place in studio.transcript.takes.left_open()]
    assert places == ["role 'developer', task 'parse-dates', attempt 1, turn 1"]


async def test_of_two_answers_the_last_is_kept(studio: Studio, provider: Provider) -> None:
    studio.begin(ANSWER)
    await studio.answer(provider)
    studio.simulator.play(play("{text: Again.}"))
    await studio.answer(provider)
    (turn,) = await studio.turns(2)
    assert turn.text == "Again."
    assert "answered before; the last answer is kept" in studio.warnings[0]


async def test_of_several_kinds_of_failures_the_last_stands_for_all(studio: Studio) -> None:
    studio.begin(ANSWER)
    for status, kind in ((529, "overloaded_error"), (429, "rate_limit_error")):
        said = {"type": "error", "error": {"type": kind, "message": "no"}}
        studio.simulator.interject(RawAnswer(status, said))
        await studio.call("anthropic")
    await studio.answer("anthropic")
    (turn,) = await studio.turns(3)
    assert turn.error == ScriptedError(kind="rate_limited", times=2)
    assert "only 'rate_limited' is kept" in studio.warnings[0]


async def test_a_summary_becomes_the_compaction(studio: Studio, provider: Provider) -> None:
    studio.begin(ANSWER)
    said = answered(await studio.answer(provider), "a.py")
    summary = {"compaction": "Dates are parsed; tests are left."}
    studio.simulator.play(play(ANSWER).model_copy(update=summary))
    await studio.answer(provider, OPENING, *said, UserMessage(text=COMPACTION))
    playbook = await studio.taken_down(2)
    assert playbook.compaction == summary["compaction"]
    assert [len(scene.turns) for scene in playbook.scenes] == [1]
    assert studio.warnings == []


@pytest.mark.parametrize("path", AT_ONCE)
async def test_an_answer_may_come_at_once(studio: Studio, path: str) -> None:
    studio.begin("{text: Hello., calls: [{bash: {command: ls}}], error: {kind: cut, times: 1}}")
    async with httpx2.AsyncClient(trust_env=False, timeout=PATIENCE, headers=HEADERS) as client:
        with pytest.raises(httpx2.RemoteProtocolError):
            await client.post(studio.url + path, json=AT_ONCE[path])
        answer = await client.post(studio.url + path, json=AT_ONCE[path])
    assert answer.status_code == 200
    (turn,) = await studio.turns(2)
    assert (turn.text, turn.calls[0].name) == ("Hello.", "bash")
    assert turn.error == ScriptedError(kind="disconnect", times=1)


async def test_a_server_without_a_system_role_is_recorded_too(studio: Studio) -> None:
    studio.begin(ANSWER)
    body = {"model": "m", "messages": [USER | {"content": f"Be careful.\n\n{OPENING.text}"}]}
    said = {"message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}
    studio.simulator.interject(RawAnswer(200, {"choices": [said]}))
    async with httpx2.AsyncClient(trust_env=False, timeout=PATIENCE) as client:
        await client.post(studio.url + "/v1/chat/completions", json=body)
    (turn,) = await studio.turns(1)
    assert turn.text == "Hi"
    assert "counts no tokens; it is recorded without usage" in studio.warnings[0]


def said(text: str, *calls: str) -> RawAnswer:
    """A completion of a compatible server."""
    message = {"role": "assistant", "content": text, "tool_calls": [use(name) for name in calls]}
    choice = {"message": message, "finish_reason": "tool_calls" if calls else "stop"}
    counted = {"prompt_tokens": 1, "completion_tokens": 1}
    return RawAnswer(200, {"choices": [choice], "usage": counted}, JSON)


def use(name: str) -> dict[str, object]:
    function = {"name": name, "arguments": "{}"}
    return {"id": f"of-{name}", "type": "function", "function": function}


async def test_turns_of_a_server_that_knows_no_several_calls_are_in_a_row(studio: Studio) -> None:
    studio.begin()
    caller = Handmade()
    caller.declare(Abilities(parallel_tool_calls=False))
    studio.simulator.interject(said("I look.", "read", "bash"))
    studio.simulator.interject(said("Done."))
    async with httpx2.AsyncClient(trust_env=False, timeout=PATIENCE) as client:
        bodies: list[bytes] = []

        def keep(request: httpx2.Request) -> httpx2.Response:
            bodies.append(request.content)
            answer = said("I look.", "read", "bash")
            return httpx2.Response(200, json=answer.body, headers=dict(answer.headers))

        first = await caller.call("local", keep)
        await caller.call("local", keep, OPENING, *answered(first, "a", "b"))
        for body in bodies:
            await client.post(studio.url + "/v1/chat/completions", content=body)
    assert json.loads(bodies[1])["messages"][-1]["role"] == "tool"
    assert [turn.text for turn in await studio.turns(2)] == ["I look.", "Done."]


# --- what it cannot take down ---------------------------------------------------------------------


async def test_a_foreign_request_passes_and_is_named_once(
    studio: Studio, provider: Provider
) -> None:
    studio.begin(ANSWER)
    for _ in range(2):
        await studio.call(provider, UserMessage(text="Hello"))
    assert len(studio.simulator.log.entries) == 2
    with pytest.raises(IndexError):
        await studio.taken_down(2)  # nothing was saved
    (warning,) = studio.warnings
    assert warning.startswith("not recorded: POST /v1")
    assert studio.transcript.takes.counts == (0, 0)


async def test_a_provider_that_cannot_be_reached_is_unavailable(studio: Studio) -> None:
    studio.begin()
    away = registry({"openai": f"{studio.url}/nobody/v1"})
    with pytest.raises(ProviderUnavailableError, match=r"127\.0\.0\.1:9/v1/responses cannot be"):
        await away.call(ask("openai"))
    await away.aclose()
    (turn,) = await studio.turns(1)
    assert turn.error == ScriptedError(kind="unavailable")


STRANGE = events(
    {"type": "message_start", "message": {"role": "assistant", "content": [], "usage": {}}},
    {"type": "hologram", "index": 0},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "scent_delta", "scent": "tea"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "content_block_start", "index": 1, "content_block": {"type": "server_tool_use"}},
    {"type": "content_block_stop", "index": 1},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
    {"type": "message_stop"},
)
ITEMS = [{"type": "message", "content": [{"type": "output_text", "text": "Hi"}]}]
RESPONSE = {"status": "completed", "output": [{"type": "web_search_call"}, *ITEMS]}
PARTS = [{"text": "Hi"}, {"executableCode": {"code": "1"}}]
MESSAGE = {"role": "assistant", "content": "Hi", "audio": {"data": "AA"}}
STRANGERS: dict[Provider, tuple[RawAnswer, list[str]]] = {
    "anthropic": (RawAnswer(200, STRANGE, STREAM), ["hologram", "scent_delta", "server_tool_use"]),
    "openai": (
        RawAnswer(200, events({"type": "response.completed", "response": RESPONSE}), STREAM),
        ["web_search_call"],
    ),
    "google": (
        RawAnswer(
            200,
            events({"candidates": [{"content": {"parts": PARTS}, "finishReason": "STOP"}]}),
            STREAM,
        ),
        ["executableCode"],
    ),
    "local": (
        RawAnswer(
            200,
            json.dumps(
                {
                    "choices": [{"message": MESSAGE, "finish_reason": "stop"}],
                    "usage": {"prompt_tokens": 1, "completion_tokens": 1},
                }
            ),
            JSON,
        ),
        ["audio"],
    ),
}


async def test_what_has_no_word_is_passed_on_and_named(studio: Studio, provider: Provider) -> None:
    studio.begin()
    raw, kinds = STRANGERS[provider]
    studio.simulator.interject(raw)
    reply = await studio.answer(provider)
    (turn,) = await studio.turns(1)
    assert reply.message.text == turn.text == "Hi"
    place = "role 'developer', task 'parse-dates', attempt 1, turn 1"
    told = [each for each in studio.warnings if "has no word" in each]
    assert told == [f"{place}: {kind!r} in its answer has no word in a playbook" for kind in kinds]


async def test_what_was_packed_on_its_way_is_read_all_the_same() -> None:
    headers = [(b"content-type", b"text/event-stream"), (b"content-encoding", b"gzip")]
    packed = gzip.compress(STRANGE.encode())
    hearing = Hearing()
    heard = await hearing.hear(
        "anthropic", "m", Captured(200, headers, [packed[:50], packed[50:]], "whole")
    )
    await hearing.aclose()
    assert isinstance(heard.outcome, ModelReply)
    assert (heard.outcome.message.text, heard.strange[0]) == ("Hi", "hologram")


async def test_an_unknown_end_is_recorded_as_such(studio: Studio) -> None:
    studio.begin()
    raw = RawAnswer(200, STRANGE.replace("end_turn", "transcended"), STREAM)
    studio.simulator.interject(raw)
    await studio.call("anthropic")
    (turn,) = await studio.turns(1)
    assert (turn.stop, turn.error) == ("unknown", None)


async def test_an_answer_that_was_too_long_is_named(studio: Studio) -> None:
    studio.begin(ANSWER)
    await studio.answer("anthropic")
    await until(lambda: len(studio.passed) == 1, "it passed")
    asked, destination, captured = studio.passed[0]
    long = captured._replace(chunks=[], ending="too_long")
    assert not await studio.transcript.take(asked, destination, long)
    (warning,) = studio.warnings
    assert warning.startswith("not recorded: role 'developer', task 'parse-dates', attempt 1")
    assert warning.endswith("its answer has over 16 MB")


async def test_what_cannot_be_kept_is_said(studio: Studio) -> None:
    studio.begin(ANSWER)
    full = OSError(28, "No space left on device")

    def save(_: str) -> None:
        raise full

    await studio.answer("anthropic")
    studio.transcript = type(studio.transcript)("full", Keeping(save, studio.warnings.append))
    with pytest.raises(IndexError):
        await studio.taken_down(1)
    assert studio.warnings[0].startswith("the playbook cannot be saved now ([Errno 28]")


async def test_a_key_that_is_a_word_of_every_playbook_is_said(studio: Studio) -> None:
    studio.begin(ANSWER, known=["developer"])
    await studio.answer("anthropic")
    with pytest.raises(IndexError):
        await studio.taken_down(1)
    assert "a key is one of the words that it needs" in studio.warnings[0]


# --- secrets --------------------------------------------------------------------------------------

FORMS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "base64": lambda value: base64.b64encode(value.encode()).decode(),
    "base64 behind another byte": lambda value: base64.b64encode(b"x" + value.encode()).decode(),
    "encoded for an address": lambda value: quote(value, safe=""),
    "hexadecimal": lambda value: value.encode().hex(),
}
CANARY = "canary/of+the=mine!"
FORMED = "ghp_" + "c4n4ry" * 6


@pytest.mark.parametrize(("provider", "form"), pairs(PROVIDERS, [*FORMS]))
async def test_no_key_reaches_the_file(studio: Studio, provider: Provider, form: str) -> None:
    """Each in a text, in arguments and in the name of one, whatever way it was known."""
    forms = [FORMS[form](value) for value in (KEY, CANARY)]
    said = " and ".join([*forms, FORMED])
    turn = f"{{text: '{said}', calls: [{{bash: {{command: '{said}', 'k {forms[0]}': 1}}}}]}}"
    studio.begin(turn, known=[CANARY])
    await studio.call(provider)
    (heard,) = await studio.turns(1)
    for value in (KEY, CANARY):
        for each in FORMS.values():
            assert each(value)[2:-4] not in studio.saved[-1]
    assert FORMED not in studio.saved[-1]
    assert "[key]" in heard.text
    assert "[a GitHub token]" in heard.text
    assert "a key was taken out" in studio.warnings[0]


async def test_a_key_in_the_address_is_known_too(studio: Studio) -> None:
    key = "address-canary-12345"
    studio.begin(f"{{text: '{key}'}}")
    path = "/v1beta/models/m:generateContent"
    async with httpx2.AsyncClient(trust_env=False, timeout=PATIENCE) as client:
        url = f"{studio.url}{path}?key={key}"
        answer = await client.post(url, json=AT_ONCE[path], headers={"x-goog-api-key": "short"})
    assert key in answer.text
    (turn,) = await studio.turns(1)
    assert turn.text == "[key]"
    assert key not in "".join([*studio.saved, *studio.warnings])
