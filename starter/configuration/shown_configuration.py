"""The effective configuration for people and for programs: each value, and its origin.

This is what a session would get here. A role without a model is shown as such, so that a
configuration can be viewed before there are keys.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal

from pydantic import BaseModel, JsonValue

from starter.configuration.effective_configuration import settle
from starter.configuration.file_shape import VERSION, file_keys
from starter.configuration.layers import BY_NAME, DEFAULT, Layer, Origin
from starter.configuration.model_routes import ROLES
from starter.configuration.written_values import flow, spelled

_COLUMN: Final = 48
_DETECTED: Final = "detected from the repository's files; `init --dry-run` names them"
_NOT_SET: Final = "not set"
_NO_MODEL: Final = "no model; set a provider's key, or name one"


class Setting(BaseModel, frozen=True, extra="forbid"):
    """One value."""

    value: JsonValue
    """In the file's format; None: gates are detected, or a role has no model."""
    origin: Origin


class ShownConfiguration(BaseModel, frozen=True, extra="forbid"):
    """The output of `config show --json`."""

    schema_version: Literal[1] = 1
    settings: dict[str, Setting]
    """By dotted key, in the order of the file; each configured provider and model has its own."""


def shown_configuration(
    layers: Sequence[Layer], environment: Mapping[str, str]
) -> ShownConfiguration:
    """Return the effective configuration.

    Args:
        layers: all layers, the winning one last.
        environment: only checked for providers' keys.

    Raises:
        ConfigurationError: the values contradict each other.
    """
    values, origins = settle(layers, environment)
    settings = {
        key: Setting(value=spelled(key, values.get(key)), origin=origins.get(key, DEFAULT))
        for name in file_keys()
        for key in _keys(name, values)
    }
    return ShownConfiguration(settings=settings)


def _keys(name: str, values: Mapping[str, object]) -> list[str]:
    entries = [key for key in values if key.startswith(f"{name}.")] if name in BY_NAME else []
    return entries or [name]


def lines(shown: ShownConfiguration, *, with_origins: bool) -> Iterator[str]:
    """Return it as a `blueflame.yaml`, line by line.

    Args:
        shown: the effective configuration.
        with_origins: add a comment with its origin after each value.
    """
    yield f"version: {VERSION}"
    before = ""
    for key, setting in shown.settings.items():
        first, _, inner = key.partition(".")
        section, name = (first, inner) if inner else ("", first)
        if section not in {"", before}:
            yield f"{section}:"
        before = section
        for line in _written(name, setting.value):
            text = f"  {line}" if section else line
            yield f"{text:<{_COLUMN}} # {setting.origin}" if with_origins else text


def _written(name: str, value: JsonValue) -> list[str]:
    if value is None:
        missing = {"gates": _DETECTED, **dict.fromkeys(ROLES, _NO_MODEL)}
        return [f"# {name}: {missing.get(name, _NOT_SET)}"]
    if name == "gates" and isinstance(value, dict) and value:
        return [f"{name}:", *(f"  {gate}: {flow(entry)}" for gate, entry in value.items())]
    return [f"{flow(name)}: {flow(value)}"]
