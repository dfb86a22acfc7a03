"""Formats values of a configuration as a person writes them in `blueflame.yaml`.

Pure; the inverse of `file_shape`, which reads the text as the same value.
"""

import json
import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Final

from pydantic import BaseModel, JsonValue, TypeAdapter

from starter.configuration.gate_commands import BASH, parse_command
from starter.configuration.value_types import texts
from workflows.domain.gate import GateSpec

_PLAIN: Final = re.compile(r"-{0,2}[A-Za-z][A-Za-z0-9_./=-]*|[0-9]+[hms](?:[0-9]+[ms])*")
_WORDS_OF_YAML: Final = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
"""Texts that some YAML readers do not take for text."""
_GATES: Final = TypeAdapter(tuple[GateSpec, ...])
_COMMANDS: Final = TypeAdapter(tuple[tuple[str, ...], ...])
_ENTRIES: Final = TypeAdapter(dict[str, object])
_UNPRINTABLE: Final = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def duration(value: timedelta) -> str:
    """Return a duration as `90s`, `10m` or `1h30m`."""
    minutes, seconds = divmod(int(value.total_seconds()), 60)
    hours, minutes = divmod(minutes, 60)
    parts = ((hours, "h"), (minutes, "m"), (seconds, "s"))
    return "".join(f"{number}{unit}" for number, unit in parts if number) or "0s"


def command(argv: Sequence[str]) -> JsonValue:
    """Return a command as its text if it was one for the shell, else as a list."""
    if tuple(argv[:-1]) == BASH and _is_text_of(argv):
        return argv[-1]
    return list(argv)


def _is_text_of(argv: Sequence[str]) -> bool:
    """Whether the last word alone would be read as the whole command."""
    try:
        return parse_command(argv[-1]) == tuple(argv)
    except ValueError:
        return False


def gates(specs: Sequence[GateSpec]) -> dict[str, JsonValue]:
    """Return gates as the mapping under `gates:`."""
    return {
        gate.name: {
            "run": command(gate.argv),
            "timeout": duration(gate.timeout),
            **({"cheap": True} if gate.cheap else {}),
            **({"paths": list(gate.paths)} if gate.paths else {}),
        }
        for gate in specs
    }


def spelled(key: str, value: object) -> JsonValue:
    """Return one setting's value as in the file.

    Args:
        key: dotted.
        value: as the session's configuration holds it.
    """
    match value:
        case tuple() if key == "gates":
            return gates(_GATES.validate_python(value))
        case tuple() if key == "worktree.setup":
            return [command(argv) for argv in _COMMANDS.validate_python(value)]
        case tuple():
            return list(texts(value))
        case dict():
            entries = _ENTRIES.validate_python(value)
            return {name: spelled(f"{key}.{name}", each) for name, each in entries.items()}
        case BaseModel():
            return _entry(value)
        case _:
            return _plain(value)


def _plain(value: object) -> JsonValue:
    match value:
        case timedelta():
            return duration(value)
        case Decimal():
            return _number(value)
        case _:
            return value if value is None or isinstance(value, int) else str(value)


def _entry(value: BaseModel) -> JsonValue:
    """The values given for a provider or a model, without unset ones."""
    said = {
        name: getattr(value, name)
        for name in type(value).model_fields
        if name in value.model_fields_set
    }
    return {name: spelled(name, each) for name, each in said.items() if each is not None}


def flow(value: JsonValue) -> str:
    """Return a value as YAML on one line."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{flow(key)}: {flow(item)}' for key, item in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(flow, value))}]"
    if not isinstance(value, str):
        return json.dumps(value)
    if _PLAIN.fullmatch(value) and value.lower() not in _WORDS_OF_YAML:
        return value
    quoted = json.dumps(value, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found.group()):04x}", quoted)


def _number(value: Decimal) -> JsonValue:
    if value == value.to_integral_value():
        return int(value)
    near = float(value)
    return near if Decimal(str(near)) == value else str(value)
