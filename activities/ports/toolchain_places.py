"""A person's own toolchains: which host directories a sandbox may show besides /usr, read-only.

Only a person's own configuration names them. Each is still checked before it is shown, because a
name may be a link, and a slip (`~`, `/`) would show keys to every agent. The checks use the
resolved path. This module mounts nothing and runs nothing from a toolchain.
"""

import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from workflows.domain.environment import ProjectEnvironment

KEY: Final = "environment.toolchains"
ROOT_KEY: Final = "environment.root"
_WHOLE: Final = frozenset(
    map(
        Path,
        ("/", "/home", "/media", "/mnt", "/opt", "/root", "/srv", "/tmp", "/var", "/var/lib"),  # noqa: S108
    )
)
"""Too broad; directories below may be shown."""
_SYSTEM: Final = tuple(map(Path, ("/boot", "/dev", "/etc", "/proc", "/run", "/sys", "/var/run")))
"""Neither these nor anything below them."""
_SECRET: Final = frozenset(
    {
        *(".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".gcloud", "gcloud", "keyrings"),
        *(".password-store", ".config", ".mozilla", ".git", ".netrc", ".secrets"),
    }
)
"""Folders that hold keys, anywhere on the path."""
_MASKED: Final = (
    *("credentials", "credentials.toml", "settings.xml", "settings-security.xml"),
    *("gradle.properties", "auth.json", ".npmrc", ".yarnrc.yml", ".netrc", ".pypirc"),
    *(".git-credentials", "etc/npmrc", "pip.conf", "config.toml", "config"),
)
"""Files at a toolchain's top in which tools keep tokens (`~/.cargo/credentials.toml`)."""


class ToolchainError(Exception):
    """A toolchain cannot be shown; the message says which, why, and what to do."""


@dataclass(frozen=True)
class Toolchains:
    """The toolchains of one host: each name with the real directory behind it."""

    places: Mapping[str, Path] = field(default_factory=dict[str, Path])

    def wanted(self, environment: ProjectEnvironment) -> dict[str, Path]:
        """Return the toolchains of one environment, in its order.

        Raises:
            ToolchainError: this host was started without one; the message says how to configure it.
        """
        return {name: self._place(name, "toolchain", KEY) for name in environment.toolchains}

    def root_of(self, environment: ProjectEnvironment) -> Path | None:
        """Return the real root folder of an environment; None: it has none.

        Raises:
            ToolchainError: this host was started without it; the message says how to configure it.
        """
        name = environment.root
        return None if name is None else self._place(name, "root folder", ROOT_KEY)

    def _place(self, name: str, what: str, key: str) -> Path:
        if name not in self.places:
            raise ToolchainError(
                f"{what} {name!r} is not shown by the workers here: they were started "
                f"without it, or it is gone. Name it under `{key}` in your own configuration "
                "(or in BLUEFLAME_TOOLCHAINS where the workers start), and start them again"
            )
        return self.places[name]


def examine(name: str, kept: Iterable[Path] = (), closed: Iterable[Path] = ()) -> Path:
    """Return the real directory behind a toolchain's name.

    Args:
        name: an absolute path; a link is followed to its end.
        kept: paths that must not be shown with it: the person's whole home, files with keys.
        closed: directories of which no part may be shown: Blue Flame's own data.

    Raises:
        ToolchainError: it is missing, is not a directory, or would show one of these.
    """
    if not name.startswith("/") or ".." in name.split("/") or {":", "\0", "\n"} & set(name):
        raise ToolchainError(
            f"toolchain {name!r}: name it by its whole path, without '..', ':' and line breaks"
        )
    try:
        real = Path(name).resolve(strict=True)
        is_folder = stat.S_ISDIR(real.stat().st_mode)
    except (OSError, RuntimeError) as error:
        said = error.strerror if isinstance(error, OSError) else "a loop of links"
        raise ToolchainError(
            f"toolchain {name!r} cannot be used: {said}. Install it, or take it out of `{KEY}`"
        ) from error
    if not is_folder:
        raise ToolchainError(
            f"toolchain {name!r} is not a directory: name the prefix that has the `bin` in it"
        )
    if (fault := _fault(real, tuple(kept), tuple(closed))) is not None:
        leads = "" if str(real) == name else f", a link to {str(real)!r},"
        raise ToolchainError(f"toolchain {name!r}{leads} is refused: {fault}")
    return real


def masked_files(real: Path) -> tuple[Path, ...]:
    """Return the files of a toolchain that may hold tokens; they are shown empty."""
    found = dict.fromkeys(Path(os.path.realpath(real / name)) for name in _MASKED)
    return tuple(path for path in found if path.is_relative_to(real) and path.is_file())


def _fault(real: Path, kept: tuple[Path, ...], closed: tuple[Path, ...]) -> str | None:
    """Say why a real directory must not be shown; None if it may be.

    | the directory                                    | why                         |
    |--------------------------------------------------|-----------------------------|
    | `/`, or all of /home, /opt, /tmp …               | too broad                   |
    | in /etc, /proc, /run …                           | the system's own state      |
    | in a folder of keys                              | keys                        |
    | holds, or is, a kept or closed path              | a home, own data, a key     |
    | is inside a closed directory                     | Blue Flame's own data       |
    """
    if real in _WHOLE:
        return "it is not one toolchain; name the prefix below it that has the `bin` in it"
    if any(real.is_relative_to(place) for place in _SYSTEM):
        return "it is the system's own state, which no command may see"
    if secret := [part for part in real.parts if part in _SECRET]:
        return f"keys are kept in {secret[0]!r}"
    for place in (*kept, *closed):
        resolved = Path(os.path.realpath(place))
        if resolved.is_relative_to(real):
            return f"{str(resolved)!r} would be seen with it"
        if place in closed and real.is_relative_to(resolved):
            return f"it lies in {str(resolved)!r}, which no command may see"
    return None
