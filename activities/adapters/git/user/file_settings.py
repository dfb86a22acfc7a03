"""Reads the person's own git settings about files: which git ignores, and how it reads them.

Blue Flame's git commands use only these settings and switch all others off. Nothing is run. A
repository of another owner cannot choose which file of this machine is read.
"""

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from activities.adapters.git.git_command import ENVIRONMENT, Git, Scope
from activities.adapters.git.user.user_git import Found
from activities.ports.git_errors import RepositoryRefusedError
from activities.ports.user_repository import AttributeRules

MAX_EXCLUDES_BYTES: Final = 256 << 10
_NAMES: Final = {
    "core.excludesfile": "core.excludesFile",
    "core.attributesfile": "core.attributesFile",
    "core.autocrlf": "core.autocrlf",
    "core.eol": "core.eol",
}
_FILES: Final = ("core.excludesFile", "core.attributesFile")
_ASKED: Final = rf"^({'|'.join(_NAMES)})$".replace(".", r"\.")
_CONVERTING: Final = frozenset({"true", "yes", "on", "1", "input"})
"""Values of `core.autocrlf` with which git stores text with LF."""
_OWN: Final = {"GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_GLOBAL", "GIT_ATTR_NOSYSTEM"}


@dataclass(frozen=True)
class FileSettings:
    """The settings that decide how git treats a checkout's files."""

    values: Mapping[str, str]
    """By name, such as `core.excludesFile`; places are absolute."""

    @property
    def excludes(self) -> Path | None:
        """The person's own list of what git ignores; None: there is none."""
        named = self.values.get("core.excludesFile")
        return Path(named) if named else None

    def within(self, scope: Scope) -> Scope:
        """Return the scope with these settings in place of the disabled ones."""
        kept = tuple(each for each in scope.settings if each.partition("=")[0] not in self.values)
        own = tuple(f"{name}={value}" for name, value in self.values.items())
        return replace(scope, settings=(*kept, *own))


async def file_settings(git: Git, found: Found, environment: Mapping[str, str]) -> FileSettings:
    """Read them, as git would for the person.

    Args:
        git: the program.
        found: the repository.
        environment: has HOME, and XDG_CONFIG_HOME if it is set; without HOME there are no settings.
    """
    home = environment.get("HOME", "")
    if not home:
        return FileSettings({})
    kept = {name: value for name, value in ENVIRONMENT.items() if name not in _OWN}
    named = {name: environment[name] for name in ("HOME", "XDG_CONFIG_HOME") if name in environment}
    is_ours = found.owner_uid == os.geteuid()
    scope = Scope(
        found.root if is_ours else Path("/"),
        {"GIT_DIR": str(found.git_dir)} if is_ours else {},
        settings=(),
        base={**kept, **named},
    )
    asked = ("config", "-z", "--includes", "--get-regexp", _ASKED)
    answer = await git.run(scope, *asked, accept=(0, 1, 128))
    pairs = (record.decode("utf-8", "surrogateescape") for record in answer.records())
    values = {_NAMES[key]: value for key, _, value in (pair.partition("\n") for pair in pairs)}
    config = Path(environment.get("XDG_CONFIG_HOME") or Path(home, ".config")) / "git"
    defaults = dict(zip(_FILES, (str(config / "ignore"), str(config / "attributes")), strict=True))
    places = {name: values.get(name, defaults[name]) for name in _FILES}
    absolute = {name: _absolute(found.root, value, home) for name, value in places.items() if value}
    return FileSettings({**{k: v for k, v in values.items() if k not in _FILES}, **absolute})


def _absolute(root: Path, value: str, home: str) -> str:
    text = f"{home}{value[1:]}" if value == "~" or value.startswith("~/") else value
    return str(root / text)


async def read_excludes(git: Git, found: Found, environment: Mapping[str, str]) -> bytes:
    """Return the ignore rules that are not in `.gitignore` files, as the text of one such file.

    Args:
        git: the program.
        found: the repository.
        environment: as in `file_settings`.

    Raises:
        RepositoryRefusedError: the rules exceed `MAX_EXCLUDES_BYTES`.
    """
    own = (await file_settings(git, found, environment)).excludes
    # git lets the repository's own list outrank the person's: of two lines, the later one counts.
    what = "which says what git ignores"
    shared = _read(found.common_dir / "info" / "exclude", what, os.O_NOFOLLOW)
    return _ended(b"" if own is None else _read(own, what)) + _ended(shared)


def read_rules(found: Found, settings: FileSettings) -> AttributeRules:
    """Return how git converts files in this repository beside its `.gitattributes` files.

    Args:
        found: the repository.
        settings: the person's for it.

    Raises:
        RepositoryRefusedError: there are more attributes than `MAX_EXCLUDES_BYTES`.
    """
    own = settings.values.get("core.attributesFile")
    what = "which says what attributes files have"
    autocrlf = settings.values.get("core.autocrlf", "false").lower()
    return AttributeRules(
        outranking=_ended(_read(found.common_dir / "info" / "attributes", what, os.O_NOFOLLOW)),
        outranked=_ended(_read(Path(own), what)) if own else b"",
        is_autocrlf=autocrlf in _CONVERTING,
    )


def _ended(text: bytes) -> bytes:
    return text if not text or text.endswith(b"\n") else text + b"\n"


def _read(place: Path, what: str, careful: int = 0) -> bytes:
    try:
        descriptor = os.open(place, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | careful)
    except OSError:
        return b""
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return b""
        data = file.read(MAX_EXCLUDES_BYTES + 1)
    if len(data) > MAX_EXCLUDES_BYTES:
        raise RepositoryRefusedError(
            f"{str(place)!r}, {what}, is over {MAX_EXCLUDES_BYTES >> 10} KiB; shorten it"
        )
    return data
