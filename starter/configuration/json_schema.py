"""The JSON Schema of `blueflame.yaml`, for editors and other programs.

Generated from the models that read the file, so the two always agree; only descriptions and
defaults are added. Rules that a schema cannot express (a repository's file may decide less) are
left to `config check`.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from activities.ports.endpoints import Abilities
from starter.configuration.effective_configuration import defaults
from starter.configuration.file_shape import ConfigurationFile, GateEntry
from starter.configuration.key_meanings import MEANINGS
from starter.configuration.written_values import duration, spelled

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_Node = dict[str, Any]
"""A part of a JSON Schema."""
_NAME: Final = "NAME"
_LINK: Final = re.compile(r" \(\[[^\]]+\]\([^)]+\)\)")
"""A link to another page, in brackets, which leads nowhere from a schema."""


def schema() -> _Node:
    """Return the schema of one whole file, of the version that this release reads."""
    made = ConfigurationFile.model_json_schema()
    holding = {key: spelled(key, value) for key, value in defaults().items()}
    timeout = GateEntry.model_fields["timeout"].get_default()
    holding |= {f"gates.{_NAME}.timeout": duration(timeout)}
    abilities = Abilities().model_dump(mode="json")
    holding |= {f"providers.{_NAME}.abilities.{key}": abilities[key] for key in abilities}
    for key, found in [*_properties(made, made, "")]:
        _close(found)
        _tell(found, MEANINGS.get(key), holding.get(key))
    for part in made["$defs"].values():
        part.pop("title", None)
    made["required"] = ["version"]
    made |= {"title": "blueflame.yaml", "description": "Settings of Blue Flame."}
    return {"$schema": DIALECT, **made}


def text() -> str:
    """Return the schema as the text of a file."""
    return json.dumps(schema(), ensure_ascii=True, indent=2) + "\n"


def _close(found: _Node) -> None:
    """Refuse names that a mapping with names of the person's choice does not allow."""
    for kind in (found, *found.get("anyOf", ())):
        if "patternProperties" in kind:
            kind["additionalProperties"] = False


def _tell(found: _Node, meaning: str | None, default: object) -> None:
    found.pop("title", None)
    found.pop("default", None)
    if meaning is not None:
        found["description"] = _LINK.sub("", meaning).replace("`", "'")
    if default is not None:
        found["default"] = default


def _properties(whole: _Node, node: _Node, prefix: str) -> Iterator[tuple[str, _Node]]:
    """Each property with its dotted key, those of sections after their section."""
    for name, found in node.get("properties", {}).items():
        key = f"{prefix}{name}"
        yield key, found
        for kind in (found, *found.get("anyOf", ())):
            yield from _properties(whole, _resolved(whole, kind), f"{key}.")
            for entry in kind.get("patternProperties", {}).values():
                yield from _properties(whole, _resolved(whole, entry), f"{key}.{_NAME}.")


def _resolved(whole: _Node, node: _Node) -> _Node:
    """Follow a reference to one of the definitions."""
    return whole["$defs"][node["$ref"].rpartition("/")[2]] if "$ref" in node else node
