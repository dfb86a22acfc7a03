"""The roles of worker processes, and which environment variables each may see.

Keys reach only role `models`, tokens of hosting services only role `land`. Everything is an
allow-list: a variable that is not named here (another program's password) reaches no worker.
"""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from enum import StrEnum
from typing import Final


class Role(StrEnum):
    """What a worker process does."""

    WORKFLOWS = "workflows"
    MODELS = "models"
    HOST = "host"
    LAND = "land"


class UnknownRoleError(ValueError):
    """A role was named that does not exist."""


_SHARED_NAMES: Final = frozenset(
    {
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "LANG",
        "LANGUAGE",
        "TZ",
        "TMPDIR",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
    }
)
_SHARED_PREFIXES: Final = ("LC_", "XDG_", "BLUEFLAME_", "TEMPORAL_", "OTEL_")
_MODEL_PREFIXES: Final = ("ANTHROPIC_", "OPENAI_", "GEMINI_", "GOOGLE_")
_MODEL_NAMES: Final = frozenset(
    {"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "REQUESTS_CA_BUNDLE", "GNUPGHOME"}
)

_HOST_PREFIXES: Final = ("PIP_", "UV_", "NPM_CONFIG_", "CARGO_REGISTRIES_")
_HOST_NAMES: Final = frozenset(
    {"GOPROXY", "GONOPROXY", "GOPRIVATE", "GOSUMDB", "GONOSUMDB", "GOINSECURE", "GOENV", "NETRC"}
    | {"CARGO_HOME", "HTTP_PROXY", "HTTPS_PROXY"}
)
"""Variables that give package tools their indexes; hosts pass them to set-up, without
credentials."""
LAND_NAMES: Final = frozenset(
    {"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "REQUESTS_CA_BUNDLE"}
)
"""Variables that say how role `land` reaches hosting services and the targets of notifications."""

SIGNING_NAMES: Final = frozenset({"SSH_AUTH_SOCK", "GNUPGHOME"})
"""Variables that say where the keys are with which role `land` signs commits."""


def parse_roles(text: str) -> tuple[Role, ...]:
    """Return the roles named in a comma-separated list, each once, in order.

    Raises:
        UnknownRoleError: one of them does not exist, or none is named.
    """
    names = [name for name in (part.strip() for part in text.split(",")) if name]
    known = {role.value for role in Role}
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        named = f"role {unknown[0]!r} does not exist" if unknown else "no role is named"
        raise UnknownRoleError(f"{named}; the roles are {', '.join(Role)}")
    return tuple(dict.fromkeys(Role(name) for name in names))


def environment_for(
    roles: Iterable[Role],
    environment: Mapping[str, str],
    keys: AbstractSet[str] = frozenset(),
    tokens: AbstractSet[str] = frozenset(),
) -> dict[str, str]:
    """Return the part of `environment` that a process with these roles gets.

    Args:
        roles: the process's.
        environment: the whole environment.
        keys: the variables of further keys, which also reach only role `models`.
        tokens: the variables of tokens of hosting services, which reach only role `land`.
    """
    named = tuple(roles)
    with_keys, with_indexes = Role.MODELS in named, Role.HOST in named
    secret = keys | tokens
    return {
        k: v
        for k, v in environment.items()
        if (with_keys and (k in keys or _is_for_models(k)) and k not in tokens)
        or (Role.LAND in named and (k in tokens or _is_for_land(k)) and k not in keys)
        or (with_indexes and _is_for_hosts(k) and k not in secret)
        or (_is_shared(k) and k not in secret)
    }


def _is_shared(name: str) -> bool:
    return name in _SHARED_NAMES or name.startswith(_SHARED_PREFIXES)


def _is_for_models(name: str) -> bool:
    return name.upper() in _MODEL_NAMES or name.startswith(_MODEL_PREFIXES)


def _is_for_land(name: str) -> bool:
    return name.upper() in LAND_NAMES or name in SIGNING_NAMES


def _is_for_hosts(name: str) -> bool:
    return name.upper() in _HOST_NAMES or name.upper().startswith(_HOST_PREFIXES)
