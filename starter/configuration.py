"""A session's settings from their layers: defaults, the user's file, the repository's file, flags.

A later layer wins key by key; lists and the `gates` mapping are taken whole, but for the lists of
the policy that only ever deny: those are joined. Where each value came
from is kept. The only disk access is reading the files that it is pointed to; the environment is
handed in, and only asked which providers' keys are there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

from pydantic import BaseModel, ValidationError

from activities.document_wording import word
from activities.ports.endpoints import ProviderEntries, ProviderEntry
from starter.configuration_errors import ConfigurationError
from starter.configuration_file import (
    FILE_NAME,
    MAX_FILE_BYTES,
    VERSION,
    ConfigurationFile,
    GateEntry,
    parse_file,
)
from starter.default_routes import (
    PLAYBOOK_ROUTES,
    available_providers,
    default_routes,
    no_models,
)
from starter.repository_limits import joined, limit_faults
from starter.route_faults import ROLES, route_fault
from workflows.domain.config import SessionConfig
from workflows.domain.gate import GateSpec
from workflows.domain.models import Provider

_SPELLING = {"validation": "validate", "copies": "copy", "routes": "models"}
"""Fields whose key in the file is another word."""
_BY_NAME = frozenset({"providers", "catalogue"})
"""Mappings of which a later layer replaces entries, not the whole."""


@dataclass(frozen=True)
class Sources:
    """Where settings are looked for; each may be absent."""

    user: Path | None = None
    """The person's own file (`user_file()`); need not exist."""
    repository: Path | None = None
    """The repository's root; its `blueflame.yaml` need not exist."""
    config: Path | None = None
    """The file named by `--config`; must exist, and takes the place of the repository's."""
    flags: Mapping[str, object] = field(default_factory=dict[str, object])
    """What flags said, by dotted key: `{"budget.stop_usd": "5", "pacing": "flow"}`."""
    playbook: bool = False
    """`--playbook` was given: scripted models whatever the files say."""
    providers: Mapping[Provider, ProviderEntry] = field(
        default_factory=dict[Provider, ProviderEntry]
    )
    """What `BLUEFLAME_PROVIDERS` says; it goes before the files, here as in the workers."""


@dataclass(frozen=True)
class Layer:
    """One layer's values, by dotted key."""

    origin: str
    """For people: `flags`, or the file's name."""
    values: Mapping[str, object]
    is_found: bool = False
    """It was found in the repository, and no person named it."""


class Configuration(BaseModel, frozen=True, extra="forbid"):
    """A whole configuration."""

    session: SessionConfig
    providers: ProviderEntries
    """What is configured of providers; the workers of role `models` need it, not the session."""
    origins: dict[str, str]
    """Each dotted key with where its value came from; `default` where nobody said anything."""


def user_file() -> Path | None:
    """Say where the person's own configuration is looked for; None for an account without home."""
    from platformdirs import user_config_path

    try:
        return user_config_path("blueflame", appauthor=False) / FILE_NAME
    except RuntimeError:
        return None


def load_configuration(sources: Sources, environment: Mapping[str, str]) -> Configuration:
    """Read all layers and put them together.

    Args:
        sources: where to look.
        environment: only asked for the presence of providers' keys.

    Raises:
        ConfigurationError: a file or flag is wrong; each complaint names its place.
        NoModelsError: no models are configured and none can be derived.
    """
    return combine((*_file_layers(sources), *_flag_layers(sources)), environment)


def combine(layers: Sequence[Layer], environment: Mapping[str, str]) -> Configuration:
    """Put layers together, the last one winning; pure.

    Raises:
        ConfigurationError: the values contradict each other.
        NoModelsError: no models are configured and none can be derived.
    """
    values: dict[str, object] = {}
    origins: dict[str, str] = {}
    _check_found(layers)
    for layer in (*layers, _derived_routes(layers, environment)):
        values.update(joined(values, layer.values))
        origins.update(dict.fromkeys(layer.values, layer.origin))
    try:
        nested = _nested(values)
        entries = cast("dict[Provider, ProviderEntry]", nested.pop("providers", {}))
        session = SessionConfig.model_validate({"routes": nested.pop("models"), **nested})
    except ValidationError as error:  # a range that this release's domain narrowed
        raise ConfigurationError(_worded(error, "the configuration")) from error
    if fault := route_fault(session, entries, origins):
        raise ConfigurationError(fault)
    return Configuration(session=session, providers=entries, origins=_all_origins(origins))


def load_providers(file: Path) -> dict[Provider, ProviderEntry]:
    """Return what a person's own file says of providers; the file need not exist.

    Raises:
        ConfigurationError: the file is wrong.
    """
    if not _is_there(file):
        return {}
    return dict(parse_file(_read(file), str(file)).providers or {})


# --- reading ------------------------------------------------------------------------------------


def _file_layers(sources: Sources) -> list[Layer]:
    layers: list[Layer] = []
    known = set(sources.providers)
    if sources.user is not None and _is_there(sources.user):
        user = parse_file(_read(sources.user), str(sources.user))
        known.update(user.providers or {})
        layers.append(_layer(user, str(sources.user)))
    if sources.config is not None:
        text = _read(sources.config)
        named = parse_file(text, str(sources.config), providers=known)
        layers.append(_layer(named, str(sources.config)))
    elif sources.repository is not None and _is_there(sources.repository / FILE_NAME):
        text = _read(sources.repository / FILE_NAME)
        file = parse_file(text, FILE_NAME, from_repository=True, providers=known)
        layers.append(replace(_layer(file, FILE_NAME), is_found=True))
    values = {f"providers.{name}": entry for name, entry in sources.providers.items()}
    return [*layers, Layer("BLUEFLAME_PROVIDERS", values)]


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return True  # it may be; reading it will say what is wrong


def _read(path: Path) -> str:
    try:
        path.stat()
        if not path.is_file():  # a pipe or a device would block, or never end
            raise ConfigurationError(f"{str(path)!r} is no file; name a YAML file")
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise ConfigurationError(f"{str(path)!r} cannot be read: {error.strerror}") from error
    return _decode(data, str(path))


def _decode(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigurationError(f"{name}:{line}:1: not UTF-8; save the file as UTF-8") from error


def _flag_layers(sources: Sources) -> list[Layer]:
    layers: list[Layer] = []
    if sources.flags:
        try:
            file = ConfigurationFile.model_validate({"version": VERSION, **_nested(sources.flags)})
        except ValidationError as error:
            raise ConfigurationError(_worded(error, "flags")) from error
        layers.append(_layer(file, "flags"))
    if sources.playbook:
        routes = {f"models.{role}": getattr(PLAYBOOK_ROUTES, role) for role in ROLES}
        layers.append(Layer("flags (--playbook)", routes))
    return layers


def _worded(error: ValidationError, source: str) -> str:
    lines = [
        f"{source}: {'.'.join(map(str, item['loc']))}: {word(item)}"
        for item in error.errors(include_url=False)
    ]
    return "\n".join(lines)


# --- layers -------------------------------------------------------------------------------------


def _layer(file: ConfigurationFile, origin: str) -> Layer:
    """Flatten a file to the keys that it says something about."""
    values: dict[str, object] = {}
    for name in sorted(file.model_fields_set - {"version"}):
        value: object = getattr(file, name)
        if isinstance(value, BaseModel):
            inner = {key: getattr(value, key) for key in sorted(value.model_fields_set)}
            values.update({f"{name}.{_SPELLING.get(key, key)}": inner[key] for key in inner})
        elif name in _BY_NAME and value is not None:
            entries = cast("Mapping[str, object]", value)
            values.update({f"{name}.{key}": entries[key] for key in entries})
        else:
            values[name] = value
    said = {key: value for key, value in values.items() if value is not None}
    if "gates" in said:
        said["gates"] = _gates(cast("dict[str, GateEntry]", said["gates"]))
    return Layer(origin, said)


def _gates(entries: Mapping[str, GateEntry]) -> tuple[GateSpec, ...]:
    return tuple(
        GateSpec(name=name, argv=entry.run, timeout=entry.timeout)
        for name, entry in entries.items()
    )


def _nested(values: Mapping[str, object]) -> dict[str, object]:
    """Dotted keys as nested mappings."""
    nested: dict[str, object] = {}
    for key, value in values.items():
        section, _, name = key.partition(".")
        if name:
            cast("dict[str, object]", nested.setdefault(section, {}))[name] = value
        else:
            nested[section] = value
    return nested


def _derived_routes(layers: Sequence[Layer], environment: Mapping[str, str]) -> Layer:
    """Routes for the roles that no layer names, where the keys for them are there."""
    named = {key for layer in layers for key in layer.values}
    missing = tuple(role for role in ROLES if f"models.{role}" not in named)
    if not missing:
        return Layer("default", {})
    available = available_providers(environment)
    routes = default_routes(available)
    if routes is None:
        raise no_models(missing, available)
    values = {f"models.{role}": getattr(routes, role) for role in missing}
    return Layer("default (keys in the environment)", values)


def _check_found(layers: Sequence[Layer]) -> None:
    """Refuse what a file found in the repository decides against the layers around it."""
    for place, layer in enumerate(layers):
        if not layer.is_found:
            continue
        later = {key for other in layers[place + 1 :] for key in other.values}
        found = {key: value for key, value in layer.values.items() if key not in later}
        own = {key: value for other in layers[:place] for key, value in other.values.items()}
        if faults := limit_faults(found, own):
            raise ConfigurationError("\n".join(f"{layer.origin}: {fault}" for fault in faults))


def _all_origins(origins: Mapping[str, str]) -> dict[str, str]:
    named = {key.partition(".")[0] for key in origins} & _BY_NAME
    every = dict.fromkeys((key for key in _keys() if key not in named), "default")
    return dict(sorted((every | dict(origins)).items()))


def _keys() -> list[str]:
    """Every dotted key of the file, from the domain's own model."""
    keys: list[str] = []
    for name, info in SessionConfig.model_fields.items():
        section = _SPELLING.get(name, name)
        kind = info.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            keys.extend(f"{section}.{_SPELLING.get(key, key)}" for key in kind.model_fields)
        else:
            keys.append(section)
    return keys
