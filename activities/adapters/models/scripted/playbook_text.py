"""Writes a playbook as the text of its file, which `parse_playbook` reads as the same playbook.

Multi-line texts are written as they are, so that a person can read and edit a recording. What YAML
has no plain form for is quoted. The emitter of ruamel.yaml is not used because it takes 20 times as
long, and a recording is written again after each answer. This module writes no file.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Final

from pydantic import JsonValue

from activities.adapters.models.scripted.playbook import Playbook, Scene, ScriptedCall, ScriptedTurn

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]{0,99}")
_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,99}")
_RESERVED: Final = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})
"""What some YAML readers do not take for text."""
_UNPRINTABLE: Final = re.compile(
    "[^\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
_LONGEST_KEY: Final = 200
"""YAML readers look for a key's colon in the first 1,024 characters, escapes included."""
_DEEPEST: Final = 50
_INDENT: Final = "  "


def playbook_text(playbook: Playbook) -> str:
    """Return a playbook as YAML, without values that are at their default."""
    head = playbook.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    return _mapping(head | {"scenes": [_scene(scene) for scene in playbook.scenes]}, 0)


def _scene(scene: Scene) -> JsonValue:
    head = scene.model_dump(mode="json", exclude_defaults=True)
    return head | {"turns": [_turn(turn) for turn in scene.turns]}


def _turn(turn: ScriptedTurn) -> JsonValue:
    plain = turn.model_dump(mode="json", exclude_defaults=True)
    return plain | {"calls": [_call(call) for call in turn.calls]} if turn.calls else plain


def _call(call: ScriptedCall) -> JsonValue:
    """Use the short form if it means the same.

    Arguments that no YAML mapping can hold become JSON text, which is read as the same call.
    """
    arguments = call.arguments
    if not _can_be_written(arguments, _DEEPEST):
        arguments = json.dumps(arguments)
    if call.id is None and call.name != "name" and _KEY.fullmatch(call.name):
        return {call.name: arguments}
    spelled: dict[str, JsonValue] = {"name": call.name, "arguments": arguments}
    return spelled if call.id is None else spelled | {"id": call.id}


def _can_be_written(value: JsonValue, depth: int) -> bool:
    if isinstance(value, dict):
        if not all(0 < len(key) <= _LONGEST_KEY for key in value):
            return False
        value = list(value.values())
    if isinstance(value, list):
        return depth > 0 and all(_can_be_written(item, depth - 1) for item in value)
    return True


# --- YAML -----------------------------------------------------------------------------------------


def _mapping(value: Mapping[str, JsonValue], depth: int) -> str:
    pad = _INDENT * depth
    return "".join(f"{pad}{_key(key)}:{_after(item, depth)}" for key, item in value.items())


def _after(value: JsonValue, depth: int) -> str:
    """Write the value after a colon or a dash, to the end of its last line."""
    if isinstance(value, dict) and value:
        return "\n" + _mapping(value, depth + 1)
    if isinstance(value, list) and value:
        return "\n" + "".join(_items(value, depth + 1))
    if isinstance(value, str):
        return f" {_text(value, depth + 1)}\n"
    return f" {json.dumps(value)}\n"


def _items(values: list[JsonValue], depth: int) -> Iterator[str]:
    pad = _INDENT * depth
    for value in values:
        if isinstance(value, dict) and value:
            inner = _mapping(value, depth + 1)
            yield f"{pad}- {inner[len(pad) + len(_INDENT) :]}"
        else:
            yield f"{pad}-{_after(value, depth)}"


def _key(key: str) -> str:
    return key if _KEY.fullmatch(key) and key.lower() not in _RESERVED else _quoted(key)


def _text(text: str, depth: int) -> str:
    if _PLAIN.fullmatch(text) and text.lower() not in _RESERVED:
        return text
    lines = text.split("\n")
    if len(lines) == 1 or not _stands_as_it_is(text, lines):
        return _quoted(text)
    sign = "|-" if lines[-1] else "|+" if len(lines) > 1 and not lines[-2] else "|"
    body = lines if lines[-1] else lines[:-1]
    pad = _INDENT * depth
    return "\n".join([sign, *(pad + line if line else "" for line in body)])


def _stands_as_it_is(text: str, lines: list[str]) -> bool:
    """A block's first line determines its indent, so it must not start with spaces."""
    begins_well = bool(lines[0]) and not lines[0][0].isspace()
    has_blanks = any(line and not line.strip() for line in lines)
    return begins_well and not has_blanks and _UNPRINTABLE.search(text) is None


def _quoted(text: str) -> str:
    written = json.dumps(text, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", written)
