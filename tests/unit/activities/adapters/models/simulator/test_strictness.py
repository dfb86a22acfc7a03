"""The simulator refuses what the real servers refuse, so that no adapter comes to rely on less."""

import json
from typing import Any

import httpx2
import pytest

from tests.unit.activities.adapters.models.wire import KEY, OPENING, Wire
from tests.waiting import PATIENCE

pytestmark = pytest.mark.asyncio(loop_scope="session")

USER = {"role": "user", "content": OPENING.text}
SYSTEM = {"role": "system", "content": "hi"}
USE: dict[str, Any] = {"type": "tool_use", "id": "t1", "name": "bash", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "ok"}
CALL = {"type": "function_call", "call_id": "c1", "name": "bash", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "ok"}
DEVELOPER = {"type": "message", "role": "developer", "content": "Be brief."}
CUSTOM = {"type": "custom_tool_call", "call_id": "c1", "name": "exec", "input": "ls"}
SAID = {"type": "input_text", "text": "ok"}
CUSTOM_OUTPUT = {"type": "custom_tool_call_output", "call_id": "c1", "output": [SAID]}
TOOLS = {
    "type": "additional_tools",
    "role": "developer",
    "tools": [
        {
            "type": "namespace",
            "name": "functions",
            "tools": [{"type": "custom", "name": "exec"}, {"type": "function", "name": "wait"}],
        }
    ],
}
PART: dict[str, Any] = {
    "functionCall": {"name": "bash", "args": {}},
    "thoughtSignature": "c2tpcA==",
}
RESPONSE = {"functionResponse": {"name": "bash", "response": {"output": "ok"}}}


async def post(wire: Wire, path: str, body: Any, **headers: str) -> httpx2.Response:
    keys = {"x-api-key": KEY, "authorization": f"Bearer {KEY}", "x-goog-api-key": KEY}
    content = body if isinstance(body, bytes) else json.dumps(body)
    async with httpx2.AsyncClient(
        base_url=wire.simulator.url, trust_env=False, timeout=PATIENCE
    ) as client:
        return await client.post(path, content=content, headers=keys | headers)


def said(*contents: Any) -> list[Any]:
    """Messages that alternate between assistant and user, after the opening."""
    roles = ("assistant", "user")
    return [USER, *({"role": roles[n % 2], "content": c} for n, c in enumerate(contents))]


ANTHROPIC: list[tuple[list[Any], str]] = [
    ([], "at least one message"),
    ([{"role": "assistant", "content": "hi"}], "first message must use the user role"),
    ([SYSTEM], "unexpected role"),
    ([USER, SYSTEM, SYSTEM], "must follow a user turn"),
    ([*said("hi"), SYSTEM], "must follow a user turn"),
    ([USER, SYSTEM, USER], "must end the list or precede"),
    ([USER, SYSTEM | {"content": ""}], "must be non-empty"),
    ([{"role": "user", "content": ""}], "must be non-empty"),
    ([{"role": "user", "content": []}], "must not be empty"),
    ([*said("hi")], "prefill"),
    (said([USE]), "without `tool_result`"),
    (said([USE], "no result"), "without `tool_result`"),
    (said([USE], [{"type": "text", "text": "x"}, RESULT]), "must come first"),
    (said([USE], [RESULT, RESULT]), "single result"),
    (said("hi", [RESULT]), "unexpected `tool_use_id`"),
    (said([USE, USE], [RESULT]), "must be unique"),
    (said([USE], [RESULT], [USE], [RESULT]), "must be unique"),
    (said([USE | {"id": ""}], [RESULT]), "must be unique"),
    (said([USE | {"input": "x"}], [RESULT]), "should be an object"),
    (said([USE], [RESULT | {"content": " "}]), "must be non-empty"),
    (said([{"type": "thinking", "thinking": "x", "signature": "???"}], "hi"), "not valid base64"),
    (said([{"type": "thinking", "thinking": "x", "signature": "c2ln"}], "hi"), "does not belong"),
]

OPENAI: list[tuple[list[Any], str]] = [
    ([], "Missing required parameter"),
    ([{"role": "user", "content": " "}], "empty"),
    ([USER, CALL], "No tool output found"),
    ([USER, CALL, USER], "No tool output found"),
    ([USER, OUTPUT], "No tool call found"),
    ([USER, CALL, OUTPUT, OUTPUT], "No tool call found"),
    ([USER, CALL, CALL, OUTPUT], "Duplicate call_id"),
    ([USER, CALL | {"call_id": ""}], "empty or too long"),
    ([USER, CALL | {"call_id": "x" * 65}], "empty or too long"),
    ([USER, CALL | {"arguments": "{"}, OUTPUT], "no JSON"),
    ([USER, CALL, OUTPUT | {"output": ""}], "empty"),
    ([USER, {"type": "reasoning", "id": "r", "encrypted_content": "c2ln"}], "does not belong"),
    ([USER, {"type": "nonsense"}], "Invalid value"),
    ([DEVELOPER | {"content": ""}, USER], "empty"),
    ([DEVELOPER], "Missing required parameter"),
    ([TOOLS | {"role": "user"}, USER], "only 'developer'"),
    ([TOOLS | {"tools": None}, USER], "Missing required parameter"),
    ([USER, CUSTOM], "No tool output found"),
    ([USER, CUSTOM_OUTPUT], "No tool call found"),
    ([USER, CUSTOM, CUSTOM_OUTPUT | {"output": []}], "empty"),
]

GEMINI: list[tuple[list[Any], str]] = [
    ([], "contents are required"),
    ([{"role": "user", "parts": []}], "must not be empty"),
    ([{"role": "user", "parts": [{"text": ""}]}], "empty text"),
    ([{"role": "system", "parts": [{"text": "x"}]}], "valid role"),
    ([("user", {"text": OPENING.text}), ("model", {"text": "hi"})], "last turn"),
    ([("user", {"text": OPENING.text}), ("model", PART)], "not valid|does not belong"),
    (
        [("user", {"text": OPENING.text}), ("model", {"functionCall": {"name": "bash"}})],
        "missing a `thought_signature`",
    ),
    ([("user", {"text": OPENING.text}), ("user", RESPONSE)], "equal to the number"),
]


USES = [{"id": "c1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}]
CALLED = {"role": "assistant", "content": None, "tool_calls": USES}
TOLD = {"role": "tool", "tool_call_id": "c1", "content": "ok"}
TOUCHED = [{"type": "reasoning.encrypted", "data": "c2ln"}]

CHAT: list[tuple[list[Any], str]] = [
    ([], "empty array"),
    ([USER | {"content": " "}], "Invalid 'content'"),
    ([USER, {"role": "assistant", "content": None}], "Invalid 'content'"),
    ([USER, {"role": "nobody", "content": "x"}], "Invalid value"),
    ([USER, {"role": "system", "content": "x"}], "must come first"),
    ([USER, CALLED], "must be followed by tool messages"),
    ([USER, CALLED, USER], "must be followed by tool messages"),
    ([USER, TOLD], "must be a response"),
    ([USER, CALLED, TOLD, TOLD], "must be a response"),
    ([USER, CALLED, TOLD | {"content": ""}], "Invalid 'content'"),
    ([USER, CALLED, TOLD, CALLED, TOLD], "Duplicate tool call id"),
    ([USER, CALLED | {"tool_calls": [USES[0] | {"id": ""}]}], "empty or too long"),
    ([USER, CALLED | {"tool_calls": [USES[0] | {"type": None}]}], "tool_calls.type"),
    ([USER, CALLED | {"tool_calls": [USES[0] | {"function": {"arguments": "{"}}]}], "no JSON"),
    ([USER, {"role": "assistant", "content": "x", "reasoning_details": TOUCHED}], "not belong"),
]


def contents(turns: list[Any]) -> list[Any]:
    return [{"role": t[0], "parts": [t[1]]} if isinstance(t, tuple) else t for t in turns]


CASES: list[tuple[str, Any, str]] = [
    *[
        ("/v1/messages", {"model": "m", "max_tokens": 9, "messages": messages}, why)
        for messages, why in ANTHROPIC
    ],
    ("/v1/messages", {"max_tokens": 9, "messages": [USER]}, "model"),
    ("/v1/messages", {"model": "m", "messages": [USER]}, "max_tokens"),
    *[("/v1/responses", {"model": "m", "input": items}, why) for items, why in OPENAI],
    ("/v1/responses", {"input": [USER]}, "model"),
    ("/v1/responses", {"model": "m", "input": [USER], "prompt_cache_key": "x" * 65}, "too long"),
    *[
        ("/v1/chat/completions", {"model": "m", "messages": messages}, why)
        for messages, why in CHAT
    ],
    ("/v1/chat/completions", {"messages": [USER]}, "model"),
    (
        "/v1/chat/completions",
        {"model": "m", "messages": [USER], "parallel_tool_calls": True},
        "only allowed when 'tools'",
    ),
    (
        "/v1/chat/completions",
        {"model": "m", "messages": [USER], "max_tokens": 1, "max_completion_tokens": 1},
        "cannot both be set",
    ),
    *[
        ("/v1beta/models/m:generateContent", {"contents": contents(turns)}, why)
        for turns, why in GEMINI
    ],
    ("/v1/messages", b"{", "not valid JSON"),
    ("/v1/responses", b'{"input": "\\ud83d"}', "not valid JSON in UTF-8"),
    ("/v1/models/m:generateContent", b"\xff", "not valid JSON"),
]


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("path", "body", "why"), CASES)
async def test_a_request_that_no_provider_takes(wire: Wire, path: str, body: Any, why: str) -> None:
    """Field report R37."""
    wire.play("{text: taken}", "{text: taken}", "{text: taken}")
    response = await post(wire, path, body)
    assert response.status_code == 400
    message = response.json()["error"]["message"]
    assert any(part in message for part in why.split("|")), message


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/messages", {"model": "m", "max_tokens": 9, "messages": said([USE], [RESULT])}),
        (
            "/v1/messages",
            {"model": "m", "max_tokens": 9, "messages": [USER, SYSTEM, *said("hi", "x")[1:]]},
        ),
        ("/v1/responses", {"model": "m", "input": [USER, CALL, OUTPUT]}),
        ("/v1/responses", {"model": "m", "input": [TOOLS, DEVELOPER, USER, CUSTOM, CUSTOM_OUTPUT]}),
        (
            "/v1/responses",
            {"model": "m", "input": [USER, {"role": "assistant", "content": "x"}, USER]},
        ),
        ("/v1/chat/completions", {"model": "m", "messages": [USER, CALLED, TOLD]}),
        (
            "/v1/chat/completions",
            {"model": "m", "messages": [{"role": "developer", "content": "x"}, USER]},
        ),
        (
            "/v1/models/m:generateContent",
            {"contents": contents([("user", {"text": OPENING.text})])},
        ),
        (
            "/v1beta/models/m:generateContent",
            {"contents": contents([("user", {"text": OPENING.text})])},
        ),
    ],
)
async def test_a_sound_request_is_answered_as_simulated(wire: Wire, path: str, body: Any) -> None:
    wire.play("{text: taken}", "{text: taken}")
    response = await post(wire, path, body)
    assert response.status_code == 200
    assert response.json()["simulated"] is True


@pytest.mark.parametrize("change", ["A" * 8, "", "=", "\n"])
async def test_a_signature_that_was_touched_is_refused(wire: Wire, change: str) -> None:
    wire.play("{calls: [{bash: {}}]}", "{text: taken}")
    body: dict[str, Any] = {"model": "m", "max_tokens": 9, "messages": [USER]}
    first = (await post(wire, "/v1/messages", body)).json()["content"]
    first[0]["signature"] = change + first[0]["signature"][len(change) or 4 :]
    result = RESULT | {"tool_use_id": first[1]["id"]}
    body["messages"] = said(first, [result])
    assert (await post(wire, "/v1/messages", body)).status_code == 400


async def test_a_signature_of_another_turn_is_refused(wire: Wire) -> None:
    wire.play(*["{calls: [{bash: {}}]}"] * 3)
    body: dict[str, Any] = {"model": "m", "max_tokens": 9, "messages": [USER]}
    first = (await post(wire, "/v1/messages", body)).json()["content"]
    result = RESULT | {"tool_use_id": first[1]["id"]}
    body["messages"] = said("hm", "go on", first, [result])
    response = await post(wire, "/v1/messages", body)
    assert "came back at" in response.json()["error"]["message"]


@pytest.mark.parametrize(
    ("path", "header", "status"),
    [
        ("/v1/messages", "x-api-key", 401),
        ("/v1/responses", "authorization", 401),
        ("/v1/chat/completions", "authorization", 401),
        ("/v1/models/m:generateContent", "x-goog-api-key", 400),
    ],
)
async def test_a_wrong_key_is_refused(wire: Wire, path: str, header: str, status: int) -> None:
    response = await post(wire, path, {}, **{header: "wrong"})
    assert response.status_code == status


async def test_the_log_counts_what_was_asked(wire: Wire) -> None:
    wire.play("{text: a}")
    for _ in range(2):
        await wire.call("openai")
    async with httpx2.AsyncClient(
        base_url=wire.simulator.url, trust_env=False, timeout=PATIENCE
    ) as client:
        logged = (await client.get("/_simulator/requests")).json()
        models = (await client.get("/v1/models")).json()
    place = {"role": "developer", "task": "parse-dates", "attempt": 1, "turn": 1}
    assert logged["counts"] == [place | {"is_compaction": False, "count": 2}]
    assert [entry["outcome"] for entry in logged["requests"]] == ["end", "end"]
    assert logged["schema"] == 1
    assert (models["data"][0]["id"], models["models"][0]["name"]) == (
        "simulated",
        "models/simulated",
    )
