"""What other agents' command lines send beside and within their conversations."""

import json
from functools import reduce
from typing import Any

import pytest

from activities.adapters.models.simulator.structured_answer import example
from tests.unit.activities.adapters.models.simulator.test_strictness import (
    CUSTOM_OUTPUT,
    TOOLS,
    USER,
    post,
)
from tests.unit.activities.adapters.models.wire import OPENING, Wire

pytestmark = pytest.mark.asyncio(loop_scope="session")

SCHEMA = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
TITLE = {"title": "simulated"}
WHERE: dict[str, tuple[str | int, ...]] = {
    "/v1/messages": ("content", -1, "text"),
    "/v1/responses": ("output", -1, "content", 0, "text"),
    "/v1/chat/completions": ("choices", 0, "message", "content"),
    "/v1beta/models/m:generateContent": ("candidates", 0, "content", "parts", -1, "text"),
}
CONTENTS = [{"role": "user", "parts": [{"text": OPENING.text}]}]
ASKED: list[tuple[str, Any]] = [
    (
        "/v1/messages",
        {
            "model": "m",
            "max_tokens": 9,
            "messages": [USER],
            "tools": [],
            "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}},
        },
    ),
    (
        "/v1/responses",
        {
            "model": "m",
            "input": [USER],
            "text": {"format": {"type": "json_schema", "name": "x", "schema": SCHEMA}},
        },
    ),
    (
        "/v1/chat/completions",
        {
            "model": "m",
            "messages": [USER],
            "response_format": {"type": "json_schema", "json_schema": {"schema": SCHEMA}},
        },
    ),
    (
        "/v1beta/models/m:generateContent",
        {"contents": CONTENTS, "generationConfig": {"responseJsonSchema": SCHEMA}},
    ),
    (
        "/v1beta/models/m:generateContent",
        {"contents": CONTENTS, "generationConfig": {"responseSchema": SCHEMA}},
    ),
]


def text_of(path: str, body: Any) -> str:
    return reduce(lambda value, key: value[key], WHERE[path], body)


@pytest.mark.parametrize(("path", "body"), ASKED)
async def test_a_request_for_json_is_answered_beside_the_play(
    wire: Wire, path: str, body: Any
) -> None:
    wire.play("{text: taken}")
    response = await post(wire, path, body)
    assert response.status_code == 200, response.text
    assert json.loads(text_of(path, response.json())) == TITLE
    assert wire.simulator.log.counts() == []
    assert [entry["outcome"] for entry in wire.simulator.log.entries] == ["structured"]


async def test_with_tools_a_request_for_json_belongs_to_the_play(wire: Wire) -> None:
    wire.play("{text: taken}")
    path, body = ASKED[0]
    response = await post(wire, path, body | {"tools": [{"name": "bash"}]})
    assert text_of(path, response.json()) == "taken"


async def test_a_custom_tool_of_a_namespace_is_called_with_text(wire: Wire) -> None:
    wire.play("{calls: [{exec: {input: ls}}, {wait: {}}]}", "{text: taken}")
    body: dict[str, Any] = {"model": "m", "input": [TOOLS, USER]}
    _, custom, function = (await post(wire, "/v1/responses", body)).json()["output"]
    assert (custom["type"], custom["namespace"], custom["input"]) == (
        "custom_tool_call",
        "functions",
        "ls",
    )
    assert (function["type"], function["namespace"]) == ("function_call", "functions")
    results = [
        CUSTOM_OUTPUT | {"call_id": custom["call_id"]},
        CUSTOM_OUTPUT | {"type": "function_call_output", "call_id": function["call_id"]},
    ]
    body["input"] += [custom, function, *results]
    assert (await post(wire, "/v1/responses", body)).status_code == 200


async def test_a_custom_call_is_streamed_as_its_input(wire: Wire) -> None:
    wire.play("{calls: [{exec: {input: ls}}]}")
    body = {"model": "m", "input": [TOOLS, USER], "stream": True}
    events = [
        json.loads(line.removeprefix("data: "))
        for line in (await post(wire, "/v1/responses", body)).text.splitlines()
        if line.startswith("data: ")
    ]
    kind = "response.custom_tool_call_input.delta"
    assert "".join(each["delta"] for each in events if each["type"] == kind) == "ls"


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({}, "simulated"),
        ({"type": "STRING"}, "simulated"),
        ({"type": ["integer", "null"]}, 1),
        ({"type": "number", "minimum": 5}, 5),
        ({"type": "boolean"}, False),
        ({"type": "null"}, None),
        ({"type": "array", "items": {"type": "string"}}, []),
        ({"type": "array", "items": {"type": "integer"}, "minItems": 1}, [1]),
        ({"enum": ["low", "high"]}, "low"),
        ({"const": 3}, 3),
        ({"anyOf": [{"type": "null"}, {"type": "string"}]}, None),
        ({"properties": {"n": {"type": "integer"}}}, {"n": 1}),
        ({"type": "unheard of"}, None),
    ],
)
async def test_an_invented_value_has_the_type_that_is_asked_for(schema: Any, value: object) -> None:
    assert example(schema) == value
