"""Invents an answer to a request that is not part of a conversation but wants JSON by a schema.

Agents' command lines send such requests beside a conversation: for a session's title, or to choose
a model. A playbook has no turn for them. The invented JSON has every property that the schema
names, with the first value that its type allows; texts and lists have no content of their own.
"""

import json
from collections.abc import Mapping

from activities.adapters.models.scripted.answer_choice import ScriptedAnswer
from activities.text.foreign_json import Json, is_list, table, tables, text
from workflows.domain.agent.model_values import Usage

_PLAIN: Mapping[str, object] = {"string": "simulated", "number": 1, "integer": 1, "boolean": False}
"""Numbers are 1, because scores and counts often begin there."""
_FIXED = ("const", "default")
_CHOICES = ("enum", "examples")
_VARIANTS = ("anyOf", "oneOf", "allOf")


def structured_answer(schema: Json) -> ScriptedAnswer:
    """Answer with JSON by `schema`, at no cost."""
    return ScriptedAnswer(
        text=json.dumps(example(schema)),
        calls=(),
        stop="end",
        usage=Usage(),
        latency_s=0,
        chunk_latency_s=0,
        error=None,
    )


def example(schema: Json) -> object:
    """Invent a value by a JSON Schema.

    Args:
        schema: types may be in capitals, as Google's are; references are not followed, and a
            minimum is kept, but no pattern or length.
    """
    for key in _FIXED:
        if key in schema:
            return schema[key]
    for key in _CHOICES:
        choices = schema.get(key)
        if is_list(choices) and choices:
            return choices[0]
    for key in _VARIANTS:
        for variant in tables(schema.get(key)):
            return example(variant)
    return _of_type(_type(schema), schema)


def _type(schema: Json) -> str:
    given = schema.get("type")
    first = given[0] if is_list(given) and given else given
    return text(first).lower() or ("object" if "properties" in schema else "string")


def _of_type(kind: str, schema: Json) -> object:
    if kind == "object":
        properties = table(schema.get("properties"))
        return {name: example(table(each)) for name, each in properties.items()}
    if kind == "array":
        return [example(table(schema.get("items")))] if schema.get("minItems") else []
    return schema.get("minimum", _PLAIN.get(kind))
