"""The registry settings of this host's process, and its own ports, which set-up must not reach.

The person's settings are read with the rights of the user that started the worker. If that is
root, which the worker gives up, they are read once before and handed over in memory: not in a
variable, an argument or a file. Otherwise they are read again for each command, so that new
credentials take effect.
"""

import os
from collections.abc import Callable
from typing import Final
from urllib.parse import urlsplit

from activities.ports.registry_access import Registries, ToolSettings
from workers.hosting.registry_settings.person_settings import read_tool_settings
from workers.hosting.registry_settings.setting_files import Person, home_of
from workers.settings import Settings

PREFIXES: Final = ("PIP_", "UV_", "NPM_CONFIG_", "CARGO_REGISTRIES_", "GOPROXY")
"""Parts of the names of variables in which package tools are given indexes, in either case."""


def told_registries(settings: Settings) -> Registries:
    """Return what set-up here may reach besides public addresses."""
    return Registries(settings.registries, own_ports(settings), _reading(settings))


def _reading(settings: Settings) -> Callable[[], ToolSettings]:
    if settings.tool_settings_fd is not None:
        handed = _handed_over(settings.tool_settings_fd)
        return lambda: handed
    return lambda: person_settings(settings)


def person_settings(settings: Settings) -> ToolSettings:
    """Read the settings of this process's user."""
    person = Person(home_of(os.environ), os.environ)
    return read_tool_settings(settings.registries, person)


def hand_over(found: ToolSettings) -> int:
    """Return a descriptor that holds the settings, for the program that this process becomes."""
    content = found.model_dump_json().encode()
    fd = os.memfd_create("registries", 0)  # inherited by the program that follows
    os.truncate(fd, len(content))
    os.pwrite(fd, content, 0)
    return fd


def _handed_over(fd: int) -> ToolSettings:
    os.set_inheritable(fd, False)  # noqa: FBT003 (positional only)
    content = os.pread(fd, os.fstat(fd).st_size, 0)
    return ToolSettings.model_validate_json(content)


def own_ports(settings: Settings) -> frozenset[int]:
    """Return the known ports on which Blue Flame and its Temporal server listen."""
    addresses = (settings.server, settings.temporal.get("TEMPORAL_ADDRESS"))
    named = (_port(each) for each in addresses if each)
    configured = (settings.temporal_port, settings.ui_port)
    return frozenset(port for port in (*named, *configured) if port)


def _port(address: str) -> int:
    try:
        return urlsplit(f"//{address}").port or 0
    except ValueError:
        return 0
