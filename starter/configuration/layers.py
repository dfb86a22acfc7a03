"""Reads the layers of a configuration: the files and the flags.

Each value keeps its origin. `effective_configuration` combines the layers. The only disk access is
reading the given files.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, TypeAdapter, ValidationError

from activities.ports.endpoints import ProviderEntry
from activities.ports.land.hosting_entries import HostingEntries, HostingEntry
from activities.ports.land.notification_port import NotificationSettings
from activities.text.text_files import TextFileError, decode_text, read_bounded
from activities.yaml_documents.source_places import Places
from activities.yaml_documents.value_wording import word
from starter.configuration.configuration_errors import ConfigurationError
from starter.configuration.file_shape import VERSION, ConfigurationFile, RoleEntry, read_file
from starter.configuration.model_routes import PLAYBOOK_ROUTES, ROLES
from workers.own_file import FILE_NAME, MAX_FILE_BYTES, user_file
from workflows.domain.agent.model_values import Provider
from workflows.domain.gate import GateSpec

_OTHER_NAME = "blueflame.yml"
SPELLING = {"validation": "validate", "copies": "copy", "routes": "models"}
"""Fields whose key in the file has another name."""
_PROVIDERS: Final = TypeAdapter(dict[Provider, ProviderEntry])
_HOSTING: Final = TypeAdapter(HostingEntries)
BY_NAME = ("providers", "catalogue", "hosting")
"""Mappings in which a later layer replaces entries, not the whole."""


class Origin(BaseModel, frozen=True, extra="forbid"):
    """The origin of a value."""

    layer: Literal["default", "environment", "user", "repository", "config", "flag"]
    """`environment`: set by a variable, or derived from the keys there; `config`: the file of
    `--config`."""
    source: str = ""
    """The file's name in messages, the option or the variable; empty for a default."""
    line: int | None = None
    """The line of the key in that file, from 1."""
    column: int | None = None

    def __str__(self) -> str:
        """Return it for people: `default`, `blueflame.yaml:3`, `--pacing`."""
        if self.layer == "environment":
            return self.source or "default (keys in the environment)"
        if self.layer == "default":
            return "default"
        return self.source if self.line is None else f"{self.source}:{self.line}"

    @property
    def place(self) -> str:
        """The beginning of complaints: with file, line and column if there are any."""
        return str(self) if self.line is None else f"{self}:{self.column}"


DEFAULT = Origin(layer="default")


@dataclass(frozen=True)
class Sources:
    """Where to look for settings; each may be absent."""

    user: Path | None = None
    """The person's own file (`user_file()`); may be missing."""
    repository: Path | None = None
    """The repository's root; its `blueflame.yaml` may be missing."""
    config: Path | None = None
    """The file named by `--config`; must exist, and replaces the repository's."""
    flags: Mapping[str, object] = field(default_factory=dict[str, object])
    """Values of flags, by dotted key: `{"budget.stop_usd": "5", "pacing": "flow"}`."""
    options: Mapping[str, str] = field(default_factory=dict[str, str])
    """The option that set each value, by the same keys; `flags` if it is missing."""
    playbook: bool = False
    """`--playbook` was given: scripted models, whatever the files say."""
    providers: Mapping[Provider, ProviderEntry] = field(
        default_factory=dict[Provider, ProviderEntry]
    )
    """The value of `BLUEFLAME_PROVIDERS`, which overrides the files, here as in the workers."""


@dataclass(frozen=True)
class Layer:
    """One layer's values, by dotted key."""

    origin: Origin
    """The origin of the layer as a whole."""
    values: Mapping[str, object]
    origins: Mapping[str, Origin] = field(default_factory=dict[str, Origin])
    """The origins of single values, if more is known."""

    @property
    def is_found(self) -> bool:
        """Whether it was found in the repository, without a person naming it."""
        return self.origin.layer == "repository"

    def origin_of(self, key: str) -> Origin:
        """Return the origin of one value."""
        return self.origins.get(key, self.origin)


def read_layers(sources: Sources) -> tuple[Layer, ...]:
    """Read every layer above the defaults, the winning one last.

    Raises:
        ConfigurationError: a file or flag is wrong; each complaint names its place.
    """
    return (*_file_layers(sources), *_environment_layers(sources), *_flag_layers(sources))


def read_layer(
    path: Path,
    kind: Literal["user", "repository", "config"],
    providers: Collection[Provider] = (),
) -> Layer:
    """Read one file.

    Args:
        path: the file.
        kind: its role; a file found in the repository may set less, and is called by its bare name.
        providers: those that other layers describe; the file's own are added.

    Raises:
        ConfigurationError: it cannot be read, or is invalid.
    """
    is_found = kind == "repository"
    name = FILE_NAME if is_found else str(path)
    text = read_text(path, name)
    file, places = read_file(text, name, from_repository=is_found, providers=providers)
    layer = _layer(file, Origin(layer=kind, source=name), places)
    return layer if kind == "user" else _without_personal(layer)


def _without_personal(layer: Layer) -> Layer:
    """Refuse notifications: workers read them in the person's own file, and nowhere else.

    A value that is the default says nothing, as in the example and in what `config show` writes.
    """
    kept: dict[str, object] = {}
    nothing = NotificationSettings()
    for key, value in layer.values.items():
        section, _, name = key.partition(".")
        if section != "notifications":
            kept[key] = value
        elif value != getattr(nothing, name):
            own = user_file() or "your own configuration file"
            raise ConfigurationError(
                f"{layer.origin_of(key).place}: {key}: only your own configuration says where "
                f"messages go; move the section to {str(own)!r}"
            )
    return Layer(layer.origin, kept, layer.origins)


def read_text(path: Path, name: str) -> str:
    """Return a file's text.

    Args:
        path: the file.
        name: the file's name in messages.

    Raises:
        ConfigurationError: it is not a file, cannot be read, is longer than any configuration, or
            is not UTF-8.
    """
    try:
        path.stat()
        return decode_text(read_bounded(path, MAX_FILE_BYTES), MAX_FILE_BYTES, name)
    except TextFileError as error:
        raise ConfigurationError(str(error)) from None
    except OSError as error:
        raise ConfigurationError(f"{str(path)!r} cannot be read: {error.strerror}") from error


def described(values: Mapping[str, object]) -> dict[Provider, ProviderEntry]:
    """Return the providers among dotted keys, by the providers' names."""
    return _PROVIDERS.validate_python(entries_of("providers", values))


def hosting_services(values: Mapping[str, object]) -> dict[str, HostingEntry]:
    """Return the hosting services among dotted keys, by their hosts' names.

    Raises:
        ConfigurationError: entries of different layers conflict.
    """
    return checked_hosting(entries_of("hosting", values), "the configuration: hosting")


def checked_hosting(entries: Mapping[str, object], source: str) -> dict[str, HostingEntry]:
    """Return hosting services that come from several places.

    Args:
        entries: by their hosts' names.
        source: the beginning of a complaint.

    Raises:
        ConfigurationError: they conflict.
    """
    try:
        return _HOSTING.validate_python(entries)
    except ValidationError as error:
        raise ConfigurationError(f"{source}: {word(error.errors(include_url=False)[0])}") from None


def entries_of(section: str, values: Mapping[str, object]) -> dict[str, object]:
    """Return the entries of a mapping among dotted keys, by their names."""
    prefix = f"{section}."
    return {key.removeprefix(prefix): values[key] for key in values if key.startswith(prefix)}


def _file_layers(sources: Sources) -> list[Layer]:
    layers: list[Layer] = []
    known = set(sources.providers)
    if sources.user is not None and is_there(sources.user):
        layers.append(read_layer(sources.user, "user"))
        known.update(described(layers[0].values))
    if sources.config is not None:
        layers.append(read_layer(sources.config, "config", known))
    elif sources.repository is not None:
        _check_name(sources.repository)
        if is_there(sources.repository / FILE_NAME):
            layers.append(read_layer(sources.repository / FILE_NAME, "repository", known))
    return layers


def _check_name(root: Path) -> None:
    """Refuse a file with a name that a person may think is read."""
    if is_there(root / _OTHER_NAME) and not is_there(root / FILE_NAME):
        raise ConfigurationError(f"{_OTHER_NAME!r} is not read; rename it to {FILE_NAME!r}")


def is_there(path: Path) -> bool:
    """Say whether anything exists at `path`, readable or not."""
    try:
        return path.exists()
    except OSError:
        return True  # it may exist; reading it reports the fault


def _environment_layers(sources: Sources) -> list[Layer]:
    values = {f"providers.{name}": entry for name, entry in sources.providers.items()}
    origin = Origin(layer="environment", source="BLUEFLAME_PROVIDERS")
    return [Layer(origin, values)] if values else []


def _flag_layers(sources: Sources) -> list[Layer]:
    layers: list[Layer] = []
    if sources.flags:
        try:
            file = ConfigurationFile.model_validate({"version": VERSION, **nested(sources.flags)})
        except ValidationError as error:
            raise ConfigurationError(worded(error, "flags")) from error
        layer = _layer(file, Origin(layer="flag", source="flags"), {})
        options = {key: Origin(layer="flag", source=said) for key, said in sources.options.items()}
        layers.append(Layer(layer.origin, layer.values, options))
    if sources.playbook:
        routes = {f"models.{role}": getattr(PLAYBOOK_ROUTES, role) for role in ROLES}
        layers.append(Layer(Origin(layer="flag", source="--playbook"), routes))
    return layers


def worded(error: ValidationError, source: str) -> str:
    """Return the complaints about values that are in no file, one per line."""
    lines = [
        f"{source}: {'.'.join(map(str, item['loc']))}: {word(item)}"
        for item in error.errors(include_url=False)
    ]
    return "\n".join(lines)


def nested(values: Mapping[str, object]) -> dict[str, object]:
    """Return dotted keys as nested mappings."""
    found = {key: value for key, value in values.items() if "." not in key}
    sections: dict[str, dict[str, object]] = {}
    for key, value in values.items():
        section, _, name = key.partition(".")
        if name:
            sections.setdefault(section, {})[name] = value
    return {**found, **sections}


def _settled(value: object) -> object:
    """Convert an entry from the file's format to a session's."""
    return value.settings() if isinstance(value, RoleEntry) else value


def _layer(file: ConfigurationFile, origin: Origin, places: Places) -> Layer:
    """Flatten a file to the keys that it sets."""
    values: dict[str, object] = {}
    for name in sorted(file.model_fields_set - {"version"}):
        value: object = getattr(file, name)
        if isinstance(value, BaseModel):
            inner = {key: _settled(getattr(value, key)) for key in sorted(value.model_fields_set)}
            values.update({f"{name}.{SPELLING.get(key, key)}": inner[key] for key in inner})
        elif name not in BY_NAME:
            values[name] = value
    values.update({f"providers.{key}": entry for key, entry in (file.providers or {}).items()})
    values.update({f"catalogue.{key}": entry for key, entry in (file.catalogue or {}).items()})
    values.update({f"hosting.{key}": entry for key, entry in (file.hosting or {}).items()})
    if file.gates is not None:
        values["gates"] = tuple(
            GateSpec(
                name=name,
                argv=entry.run,
                timeout=entry.timeout,
                cheap=entry.cheap,
                paths=entry.paths,
            )
            for name, entry in file.gates.items()
        )
    said = {key: value for key, value in values.items() if value is not None}
    origins = {
        key: Origin(layer=origin.layer, source=origin.source, line=place[0], column=place[1])
        for key in said
        if (place := places.get(tuple(key.split(".", 1))))
    }
    return Layer(origin, said, origins)
