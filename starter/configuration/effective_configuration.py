"""A session's settings from their layers: defaults, the user's file, the repository's file, flags.

A later layer wins key by key. Lists and the `gates` mapping are replaced as a whole, except lists
of the policy that only deny: those are joined. The origin of each value is kept. The environment
is passed in, and only checked for providers' keys.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ValidationError

from activities.ports.endpoints import ProviderEntries, ProviderEntry
from activities.ports.hosting_entries import HostingEntries, HostingEntry
from activities.ports.notification_port import NotificationSettings
from starter.configuration.configuration_errors import ConfigurationError
from starter.configuration.environment_values import expanded
from starter.configuration.layers import (
    BY_NAME,
    DEFAULT,
    SPELLING,
    Layer,
    Origin,
    Sources,
    described,
    entries_of,
    hosting_services,
    is_there,
    nested,
    read_layer,
    read_layers,
    worded,
)
from starter.configuration.model_routes import (
    ROLES,
    available_providers,
    default_routes,
    no_models,
    route_fault,
)
from starter.configuration.repository_limits import joined, limit_faults
from starter.configuration.value_types import texts
from workflows.domain.agent.model_values import Provider
from workflows.domain.environment import ProjectEnvironment, RegistryAccess
from workflows.domain.session.session_config import SessionConfig


class Configuration(BaseModel, frozen=True, extra="forbid"):
    """A whole configuration."""

    session: SessionConfig
    providers: ProviderEntries
    """The configured providers; the workers of role `models` need them, the session does not."""
    hosting: HostingEntries
    """The hosting services that may be pushed to; the workers of role `land` need them."""
    origins: dict[str, Origin]
    """The origin of each dotted key."""


class Settled(NamedTuple):
    """The layers combined, before missing keys are reported."""

    values: dict[str, object]
    """Every dotted key with its value; only roles without a model are missing."""
    origins: dict[str, Origin]
    """The origin of every dotted key in `values`."""


def load_configuration(sources: Sources, environment: Mapping[str, str]) -> Configuration:
    """Read all layers and combine them.

    Args:
        sources: where to look.
        environment: only checked for providers' keys.

    Raises:
        ConfigurationError: a file or flag is wrong; each complaint names its place.
        NoModelsError: no models are configured and none can be derived.
    """
    return combine(read_layers(sources), environment)


def combine(layers: Sequence[Layer], environment: Mapping[str, str]) -> Configuration:
    """Combine layers, the last one winning; pure.

    Raises:
        ConfigurationError: the values contradict each other.
        NoModelsError: no models are configured and none can be derived.
    """
    values, origins = settle(layers, environment)
    missing = tuple(role for role in ROLES if f"models.{role}" not in values)
    if missing:
        raise no_models(missing)
    try:
        whole = nested(values)
        del whole["providers"], whole["hosting"]
        told = ProjectEnvironment.model_validate(whole.pop("environment"))
        whole["environment"] = expanded(told, environment)
        messages = NotificationSettings.model_validate(whole.pop("notifications"))
        whole["notify"] = messages.tell if messages.has_targets else ()
        session = SessionConfig.model_validate({"routes": whole.pop("models"), **whole})
    except ValidationError as error:  # a range that this release's domain narrowed
        raise ConfigurationError(worded(error, "the configuration")) from error
    return Configuration(
        session=session,
        providers=described(values),
        hosting=hosting_services(values),
        origins=origins,
    )


def load_providers(file: Path) -> dict[Provider, ProviderEntry]:
    """Return the providers in a person's own file, which may be missing.

    Raises:
        ConfigurationError: the file is wrong.
    """
    return described(read_layer(file, "user").values) if is_there(file) else {}


def load_hosting(file: Path) -> dict[str, HostingEntry]:
    """Return the hosting services in a person's own file, which may be missing.

    Raises:
        ConfigurationError: the file is wrong.
    """
    return hosting_services(read_layer(file, "user").values) if is_there(file) else {}


def load_toolchains(file: Path, variables: Mapping[str, str]) -> tuple[str, ...]:
    """Return toolchains and root in a person's own file, which may be missing.

    Raises:
        ConfigurationError: the file is wrong.
    """
    if not is_there(file):
        return ()
    values = read_layer(file, "user").values
    root = values.get("environment.root")
    told = ProjectEnvironment(
        toolchains=texts(values.get("environment.toolchains", ())),
        root=root if isinstance(root, str) else None,
    )
    return expanded(told, variables).places


def load_registries(file: Path, variables: Mapping[str, str]) -> RegistryAccess:
    """Return the registries in a person's own file, which may be missing.

    Raises:
        ConfigurationError: the file is wrong.
    """
    if not is_there(file):
        return RegistryAccess()
    said = entries_of("environment", read_layer(file, "user").values)
    keys = RegistryAccess.model_fields
    told = ProjectEnvironment.model_validate({key: said[key] for key in keys if key in said})
    return expanded(told, variables).access


def settle(layers: Sequence[Layer], environment: Mapping[str, str]) -> Settled:
    """Combine layers as far as possible; pure.

    Raises:
        ConfigurationError: the values contradict each other.
    """
    _check_found(layers)
    values = defaults()
    origins = dict.fromkeys(values, DEFAULT)
    for layer in (*layers, _derived_routes(layers, environment)):
        values.update(joined(values, layer.values))
        origins.update({key: layer.origin_of(key) for key in layer.values})
    for section in BY_NAME:
        if entries_of(section, values):
            del values[section], origins[section]
    _check_routes(values, origins)
    return Settled(dict(sorted(values.items())), dict(sorted(origins.items())))


def _derived_routes(layers: Sequence[Layer], environment: Mapping[str, str]) -> Layer:
    """Routes for roles that no layer names, if the keys for them exist."""
    named = {key for layer in layers for key in layer.values}
    routes = default_routes(available_providers(environment))
    found = {} if routes is None else {f"models.{role}": getattr(routes, role) for role in ROLES}
    missing = {key: value for key, value in found.items() if key not in named}
    return Layer(Origin(layer="environment"), missing)


def _check_found(layers: Sequence[Layer]) -> None:
    """Refuse what a file found in the repository may not decide against other layers."""
    for place, layer in enumerate(layers):
        if not layer.is_found:
            continue
        later = {key for other in layers[place + 1 :] for key in other.values}
        later -= {key for key in later if key.startswith("agents.")}  # those add up
        found = {key: value for key, value in layer.values.items() if key not in later}
        own = {key: value for other in layers[:place] for key, value in other.values.items()}
        if faults := limit_faults(found, own):
            places = [layer.origin_of(fault.partition(": ")[0]).place for fault in faults]
            lines = [f"{at}: {fault}" for at, fault in zip(places, faults, strict=True)]
            raise ConfigurationError("\n".join(lines))


def _check_routes(values: Mapping[str, object], origins: Mapping[str, Origin]) -> None:
    routes = {role: texts(values.get(f"models.{role}", ())) for role in ROLES}
    if (fault := route_fault(routes, described(values))) is not None:
        role, said = fault
        raise ConfigurationError(f"{origins[f'models.{role}'].place}: models.{role}: {said}")


def defaults() -> dict[str, object]:
    """Return every dotted key of the file that has a default, from the domain's own model."""
    found: dict[str, object] = {
        "providers": {},
        "hosting": {},
    }  # no session keeps it, nor the addresses below
    messages = NotificationSettings()
    for name in NotificationSettings.model_fields:
        found[f"notifications.{name}"] = getattr(messages, name)
    for name, info in SessionConfig.model_fields.items():
        if info.is_required() or name == "notify":  # the models; what follows from notifications
            continue
        value: object = info.get_default(call_default_factory=True)
        if isinstance(value, BaseModel):
            section = {key: getattr(value, key) for key in type(value).model_fields}
            found.update({f"{name}.{SPELLING.get(key, key)}": section[key] for key in section})
        else:
            found[SPELLING.get(name, name)] = value
    return found
