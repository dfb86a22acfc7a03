"""The settings of this machine's processes, with what the person's own file adds to them."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from starter.console.command_errors import CommandError

if TYPE_CHECKING:
    from activities.ports.land.hosting_entries import HostingEntry
    from workers.settings import Settings
    from workflows.domain.environment import RegistryAccess


def read_settings() -> "Settings":
    """Read this process's settings, for a command that uses the data directory.

    Raises:
        CommandError: a variable of the environment has an invalid value, or no data directory
            is possible.
    """
    from starter.machine.data_directory import require_place

    settings = settings_as_they_are()
    require_place(settings.data_dir)
    return settings


def settings_as_they_are() -> "Settings":
    """Read this process's settings, whether they can be used or not.

    Raises:
        CommandError: a variable of the environment has an invalid value.
    """
    from pydantic import ValidationError
    from pydantic_settings import SettingsError

    from workers.settings import HomelessError, Settings

    try:
        return Settings.read()
    except SettingsError as error:
        raise CommandError(f"the environment: {error}; BLUEFLAME_PROVIDERS is JSON") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        if first["type"] == "value_error":  # from Blue Flame's own check, in words
            raise CommandError(first["msg"].removeprefix("Value error, ")) from error
        name = f"BLUEFLAME_{str(first['loc'][0]).upper()}"
        # The value of a key's variable may be the key.
        value = "" if first["loc"][0] == "providers" else f" is {first['input']!r}"
        raise CommandError(
            f"{name}{value}: {first['msg']}; correct the variable, or unset it"
        ) from error
    except HomelessError as error:
        raise CommandError(str(error)) from error


def with_own_providers(settings: "Settings") -> "Settings":
    """Return the settings with the providers of the person's own file.

    Raises:
        ConfigurationError: the file is wrong.
    """
    from starter.configuration.effective_configuration import load_providers
    from workers.own_file import user_file

    file = user_file()
    own = {} if file is None else load_providers(file)
    return settings.evolve(providers={**own, **settings.providers})


def with_own_hosting(settings: "Settings") -> "Settings":
    """Return the settings with the hosting services of the person's own file.

    Raises:
        ConfigurationError: the file is wrong.
    """
    from starter.configuration.effective_configuration import load_hosting
    from workers.own_file import user_file

    file = user_file()
    return with_hosting(settings, {} if file is None else load_hosting(file))


def with_hosting(settings: "Settings", configured: "Mapping[str, HostingEntry]") -> "Settings":
    """Return the settings with more hosting services; those of the environment have precedence.

    Raises:
        ConfigurationError: services of both would get the same token.
    """
    from starter.configuration.layers import checked_hosting

    source = "`hosting` and BLUEFLAME_HOSTING together"
    hosting = checked_hosting({**configured, **settings.hosting}, source)
    return settings.evolve(hosting=hosting)


def with_own_toolchains(settings: "Settings", named: Sequence[str] = ()) -> "Settings":
    """Return the settings with the toolchains of the person's own file and the given ones.

    Raises:
        ConfigurationError: the file is wrong.
    """
    from starter.configuration.effective_configuration import load_toolchains
    from workers.own_file import user_file

    file = user_file()
    own = () if file is None else load_toolchains(file, os.environ)
    toolchains = {name: Path(name) for name in (*own, *named)}
    return settings.evolve(toolchains={**toolchains, **settings.toolchains})


def with_own_registries(settings: "Settings", wanted: "RegistryAccess | None" = None) -> "Settings":
    """Return the settings with the registries that a session wants, or those of the person's file.

    BLUEFLAME_REGISTRIES overrides both.

    Args:
        settings: those of this process.
        wanted: the session's; None: there is none yet.

    Raises:
        CommandError: the file is wrong.
    """
    from starter.configuration.effective_configuration import load_registries
    from workers.own_file import user_file

    if "registries" in settings.model_fields_set:
        return settings
    file = user_file()
    own = wanted or (None if file is None else load_registries(file, os.environ))
    return settings if own is None else settings.evolve(registries=own)
