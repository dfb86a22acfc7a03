"""A person's settings of hosting services: where they are, and what may be pushed there.

Also reads which repository on which host a remote's URL names.

The same model is an entry of `hosting:` in the person's own configuration and of the land workers'
variable `BLUEFLAME_HOSTING`. It names where a token is found, and never holds one. An entry is the
person's permission: without one, Blue Flame pushes nowhere.
"""

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from itertools import combinations
from typing import Annotated, Final, Literal, NamedTuple
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, Field, StringConstraints, field_validator

Api = Literal["github", "gitlab", "gitea"]
_SCP: Final = re.compile(r"(?:[^@/:]+@)?(?P<host>[A-Za-z0-9.-]+):(?P<path>[^/].*)")
_PATH: Final = re.compile(r"[A-Za-z0-9_.~-]+(?:/[A-Za-z0-9_.~-]+)+")
_WEB: Final = {"http", "https"}
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_LOOPBACK: Final = {"127.0.0.1", "localhost", "::1"}
_KNOWN: Final[Mapping[str, tuple[Api, str]]] = {
    "github.com": ("github", "https://api.github.com"),
    "gitlab.com": ("gitlab", "https://gitlab.com/api/v4"),
    "codeberg.org": ("gitea", "https://codeberg.org/api/v1"),
    "gitea.com": ("gitea", "https://gitea.com/api/v1"),
}
_PATHS: Final[Mapping[Api, str]] = {"github": "/api/v3", "gitlab": "/api/v4", "gitea": "/api/v1"}
_TOKENS: Final[Mapping[Api, tuple[str, ...]]] = {
    "github": ("GH_TOKEN", "GITHUB_TOKEN"),
    "gitlab": ("GITLAB_TOKEN",),
    "gitea": ("GITEA_TOKEN", "FORGEJO_TOKEN"),
}

HostName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9.-]{0,252}(:[0-9]{1,5})?$")]
"""`github.com`, in lower case; with a port if web addresses of the remote have one."""
RepositoryPattern = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.*/~-]{1,200}$")]


class HostingEntry(BaseModel, frozen=True, extra="forbid"):
    """One hosting service."""

    repositories: Annotated[tuple[RepositoryPattern, ...], Field(min_length=1, max_length=200)]
    """The repositories that branches may be pushed to: `acme/shop`, `acme/*`, or `*` for all."""
    api: Api | None = None
    """Its API; None: known by the host's name. Forgejo is `gitea`."""
    url: str | None = None
    """The address of its API; None: where this API usually is."""
    git_url: str | None = None
    """Where branches are pushed, with `{repository}`; None: `https://HOST/{repository}.git`."""
    token: str | None = None
    """The environment variable that holds the token; None: the API's usual variables, then what
    `gh` or `glab` is logged in with."""

    @field_validator("url", "git_url")
    @classmethod
    def _is_an_address(cls, value: str | None) -> str | None:
        if value is None:
            return None
        parts = urlsplit(value)
        if parts.username or parts.password or parts.query or parts.fragment:
            raise ValueError("an address holds no user, no password and no query")
        is_local = parts.scheme == "http" and parts.hostname in _LOOPBACK
        if not (parts.scheme in {"https", "file"} or is_local):
            raise ValueError(
                "a token is only sent to an https:// address, or to http:// on this machine"
            )
        return value.rstrip("/")

    @field_validator("token")
    @classmethod
    def _is_a_variable(cls, value: str | None) -> str | None:
        if value is not None and not _VARIABLE.fullmatch(value):
            # The value may be the token itself, so the message does not repeat it.
            raise ValueError("this names the environment variable that holds the token, not it")
        return value

    def at(self, host: str) -> "HostingService":
        """Return the entry with what follows from the host's name."""
        api, url = self._place(host)
        return HostingService(
            host=host,
            api=api,
            url=url,
            git_url=self.git_url or f"https://{host}/{{repository}}.git",
            tokens=(self.token,) if self.token else _TOKENS[api],
            repositories=self.repositories,
        )

    def _place(self, host: str) -> tuple[Api, str]:
        known_api, known_url = _KNOWN.get(host, (None, None))
        api = self.api or known_api
        if api is None:
            raise ValueError(f"host {host!r} needs `api`: github, gitlab or gitea")
        is_usual = known_url is not None and api == known_api
        return api, self.url or (known_url if is_usual else None) or f"https://{host}{_PATHS[api]}"


class HostingService(BaseModel, frozen=True, extra="forbid"):
    """One hosting service with everything that is needed to reach it, except the token."""

    host: str
    api: Api
    url: str
    git_url: str
    tokens: tuple[str, ...]
    """Environment variables that may hold the token, the first that is set counts."""
    repositories: tuple[str, ...]

    def may_push(self, repository: str) -> bool:
        """Whether the person allows pushes to `owner/name`."""
        return any(_covers(pattern, repository) for pattern in self.repositories)

    def push_url(self, repository: str) -> str:
        """Return the address that branches of `owner/name` are pushed to."""
        return self.git_url.replace("{repository}", repository)


def _covers(pattern: str, repository: str) -> bool:
    """Whether a pattern names a repository; `*` alone names all, else it stays in one segment."""
    if pattern == "*":
        return True
    parts, names = pattern.lower().split("/"), repository.lower().split("/")
    return len(parts) == len(names) and all(map(fnmatchcase, names, parts))


def _consistent(entries: dict[HostName, HostingEntry]) -> dict[HostName, HostingEntry]:
    found = services(entries)
    for one, other in combinations(entries, 2):
        unnamed = [host for host in (one, other) if entries[host].token is None]
        shared = [name for name in found[one].tokens if name in found[other].tokens]
        if unnamed and shared:
            raise ValueError(
                f"hosts {one!r} and {other!r} would both get the token in {shared[0]}: set `token` "
                f"of {unnamed[-1]!r} to the variable with the token of that host"
            )
    return entries


HostingEntries = Annotated[dict[HostName, HostingEntry], AfterValidator(_consistent)]
"""Hosting services by the host's name in the remote's URL.

Two hosts may use one variable only if both entries name it: by default, each would get the other's
token.
"""


def services(entries: Mapping[str, HostingEntry]) -> dict[str, HostingService]:
    """Return every hosting service by its host's name."""
    return {host: entry.at(host) for host, entry in entries.items()}


def token_variables(entries: Mapping[str, HostingEntry]) -> frozenset[str]:
    """Return all environment variables that may hold a token; only role `land` gets them."""
    return frozenset(name for each in services(entries).values() for name in each.tokens)


class RemoteAddress(NamedTuple):
    """A repository on a hosting service."""

    host: str
    """In lower case, with the port of a web address if it has one."""
    repository: str
    """`owner/name`, with GitLab also `group/subgroup/name`."""


def read_remote(url: str) -> RemoteAddress | None:
    """Return what a remote's URL names.

    | a URL as in                              | names                      |
    |------------------------------------------|----------------------------|
    | `https://github.com/acme/shop.git`       | github.com, acme/shop      |
    | `git@github.com:acme/shop.git`           | github.com, acme/shop      |
    | `ssh://git@git.example:2222/acme/shop`   | git.example, acme/shop     |
    | `http://127.0.0.1:3000/acme/shop`        | 127.0.0.1:3000, acme/shop  |
    | a path, `file:///srv/shop.git`           | nothing: None              |

    Args:
        url: as git's configuration has it.
    """
    if "://" not in url:
        found = _SCP.fullmatch(url)
        return None if found is None else _address(found["host"], found["path"])
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in {*_WEB, "ssh", "git+ssh"} or not parts.hostname:
        return None
    is_named = parts.scheme in _WEB and port is not None
    return _address(f"{parts.hostname}:{port}" if is_named else parts.hostname, parts.path)


def _address(host: str, path: str) -> RemoteAddress | None:
    name = path.strip("/").removesuffix(".git")
    if not _PATH.fullmatch(name) or ".." in name.split("/"):
        return None
    return RemoteAddress(host.lower(), name)
