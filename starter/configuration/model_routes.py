"""Routes of models: the defaults if a person configured none, and why some routes cannot work.

Pure: from the providers with keys to routes, or to a message that names the ways to get models. It
neither reads a key's value nor checks that it works.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from activities.ports.endpoints import ProviderEntries, ProviderEntry, endpoints
from starter.configuration.configuration_errors import NoModelsError
from workflows.domain.agent.model_values import Provider
from workflows.domain.session.session_config import Routes


class _Offer(NamedTuple):
    provider: Provider
    keys: tuple[str, ...]
    """Environment variables that hold its key; messages name the first."""
    address: str
    """The environment variable that names another server."""
    strong: str
    usual: str


_OFFERS = (
    _Offer(
        "anthropic",
        ("ANTHROPIC_API_KEY",),
        "ANTHROPIC_BASE_URL",
        "claude-opus-5-5",
        "claude-sonnet-5-5",
    ),
    _Offer("openai", ("OPENAI_API_KEY",), "OPENAI_BASE_URL", "gpt-6.1-sol", "gpt-6.1-terra"),
    _Offer(
        "google",
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        "GOOGLE_GEMINI_BASE_URL",
        "gemini-4-argon",
        "gemini-4-argon",
    ),
)
"""In order of preference."""
_NO_ENTRIES: ProviderEntries = {}
_WAYS = ("_FILE", "_COMMAND")
"""A key is given directly, by the file that contains it, or by the command that prints it."""

PLAYBOOK_ROUTES = Routes(
    planner=("scripted/author",),
    developer=("scripted/author",),
    reviewer=("scripted/reviewer",),
)
"""With `--playbook FILE`: no model answers, and every view says so."""


def available_providers(
    environment: Mapping[str, str], entries: ProviderEntries = _NO_ENTRIES
) -> frozenset[Provider]:
    """Return the providers that can be asked.

    Args:
        environment: where keys are looked up; an empty key counts as none.
        entries: the configured servers, which may need no key.
    """
    built_in = (
        offer.provider
        for offer in _OFFERS
        if any(environment.get(name, "").strip() for name in _key_variables(offer))
    )
    configured = (
        name
        for name, entry in endpoints(entries).items()
        if not entry.key or environment.get(entry.key, "").strip()
    )
    return frozenset((*built_in, *configured))


def _key_variables(offer: _Offer) -> tuple[str, ...]:
    """Return what can give its key; a file or a command only under the first name."""
    return (*offer.keys, *(f"{offer.keys[0]}{way}" for way in _WAYS))


def given_keys(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names of the variables that give keys of built-in providers."""
    named = (name for offer in _OFFERS for name in _key_variables(offer))
    return tuple(name for name in named if environment.get(name, "").strip())


def key_names(provider: str, entries: ProviderEntries = _NO_ENTRIES) -> tuple[str, ...]:
    """Return the environment variables that hold a provider's key; some need none."""
    if (entry := entries.get(provider)) is not None and entry.key:
        return (entry.key,)
    return next((offer.keys for offer in _OFFERS if offer.provider == provider), ())


def default_routes(available: AbstractSet[Provider]) -> Routes | None:
    """Choose models for each role.

    | providers    | developers            | reviewers                                       |
    |--------------|-----------------------|-------------------------------------------------|
    | none         |                       |                                                 |
    | one          | its usual model       | its strong model; a notice names the family     |
    | two or three | the first one's usual | the others' usual models                        |

    Returns:
        None without a provider.
    """
    offers = [offer for offer in _OFFERS if offer.provider in available]
    if not offers:
        return None
    first, *others = offers
    reviewers = tuple(f"{offer.provider}/{offer.usual}" for offer in others)
    return Routes(
        planner=tuple(f"{offer.provider}/{offer.strong}" for offer in offers),
        developer=(f"{first.provider}/{first.usual}",),
        reviewer=reviewers or (f"{first.provider}/{first.strong}",),
    )


def no_models(missing: tuple[str, ...]) -> NoModelsError:
    """Explain which roles have no model and how to give them one.

    Args:
        missing: the roles without a route, as keys of `models:`.
    """
    keys = ", ".join(offer.keys[0] for offer in _OFFERS)
    return NoModelsError(
        f"no model is configured for {', '.join(missing)}. Three ways to get one:\n"
        f"  1. set a provider's key in the environment: {keys}. With the keys of two, a reviewer "
        "is of another family than the developer\n"
        "  2. use a compatible server, one on this machine too: name its address by "
        f"{', '.join(offer.address for offer in _OFFERS)}, and its models by 'models:' with "
        "planner, developer and reviewer in blueflame.yaml, each a list such as "
        "[openai/its-model]\n"
        "  3. give a playbook with --playbook FILE: scripted answers, no model and no cost"
    )


# --- routes that cannot work -----------------------------------------------------------------

ROLES = ("planner", "developer", "reviewer")
_Routes = Mapping[str, Sequence[str]]
_Entries = Mapping[Provider, ProviderEntry]


class RouteFault(NamedTuple):
    """Why the routes cannot work."""

    role: str
    """The role whose route has the fault."""
    said: str


def route_fault(routes: _Routes, entries: _Entries) -> RouteFault | None:
    """Say why the routes cannot work: one names a server that is declared not to support tools.

    Args:
        routes: the models of each role; roles without models are ignored.
        entries: the configured providers.
    """
    for role in ROLES:
        for name in routes[role]:
            entry = entries.get(name.partition("/")[0])
            if entry is not None and not entry.abilities.tool_calls:
                return RouteFault(
                    role,
                    f"the provider of {name!r} is declared to know no tool calls, and agents do "
                    "everything by tools; choose another model",
                )
    return None
