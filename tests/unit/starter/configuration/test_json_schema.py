"""The JSON Schema: a copy is kept, it knows every key with its meaning, and says no falsehood."""

import json
import re
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from starter.configuration.file_shape import file_keys
from starter.configuration.json_schema import schema, text
from starter.configuration.key_meanings import MEANINGS

ROOT = Path(__file__).parents[4]


def properties(node: dict[str, Any], prefix: str = "") -> dict[str, dict[str, Any]]:
    """Return every property by its dotted key, references followed."""
    whole = schema()
    found: dict[str, dict[str, Any]] = {}
    for name, inner in node.get("properties", {}).items():
        found[f"{prefix}{name}"] = inner
        for kind in (inner, *inner.get("anyOf", ())):
            entries = [*kind.get("patternProperties", {}).values()]
            for part, below in [(kind, ""), *((entry, "NAME.") for entry in entries)]:
                if "$ref" in part:
                    name_of = part["$ref"].rpartition("/")[2]
                    found |= properties(whole["$defs"][name_of], f"{prefix}{name}.{below}")
    return found


def test_the_copy_in_the_documents_is_the_schema():
    kept = (ROOT / "docs" / "blueflame.schema.json").read_text("utf-8")
    assert kept == text(), "scripts/docs writes it again"
    assert json.loads(kept) == schema()


def test_every_key_is_there_with_its_meaning():
    found = properties(schema())
    assert set(MEANINGS) <= set(found)
    assert {"version", *file_keys()} <= set(found)
    assert [key for key in MEANINGS if not found[key]["description"]] == []
    assert found["gates.NAME.timeout"]["default"] == "10m"
    assert found["budget.stop_usd"]["default"] == 10
    assert found["policy.planner_tools"]["default"] == ["bash", "read"]
    assert found["providers.NAME.abilities.prompt_caching"]["default"] is False
    assert "default" not in found["models.planner"]


def test_every_object_is_closed():
    whole = schema()
    objects = [whole, *(part for part in whole["$defs"].values() if part["type"] == "object")]
    assert [part["title"] for part in objects if part["additionalProperties"] is not False] == []
    for name in ("gates", "providers", "catalogue", "hosting"):
        assert whole["properties"][name]["anyOf"][0]["additionalProperties"] is False
    assert whole["required"] == ["version"]


def test_the_keys_of_the_example_are_allowed_where_they_stand():
    example: Any = YAML(typ="safe", pure=True).load(ROOT / "blueflame.example.yaml")
    found = properties(schema())
    keys = [key for key in example if not isinstance(example[key], dict)]
    keys += [
        f"{key}.{name}"
        for key in example
        if isinstance(example[key], dict)
        for name in example[key]
    ]
    for key in keys:
        assert re.sub(r"^(gates|providers|catalogue|hosting)\..*", r"\1", key) in found
