"""Whether the routes of a configuration can work, as far as configuration tells. Pure."""

from collections.abc import Mapping, Sequence
from typing import cast

from activities.ports.endpoints import ProviderEntry
from starter.default_routes import family_of
from workflows.domain.config import SessionConfig
from workflows.domain.models import Provider

ROLES = ("planner", "developer", "reviewer")


def route_fault(
    session: SessionConfig, entries: Mapping[Provider, ProviderEntry], origins: Mapping[str, str]
) -> str | None:
    """Say why the routes cannot work.

    | routes                                                   | fault                         |
    |----------------------------------------------------------|-------------------------------|
    | name a server that is declared to know no tool calls     | agents do everything by tools |
    | name no reviewer of another family than the developers'  | nobody could review           |

    Args:
        session: the configuration.
        entries: what is configured of providers.
        origins: where each dotted key came from, for the message.

    Returns:
        A complaint that begins with its place, or None.
    """
    return _without_tools(session, entries, origins) or _without_reviewer(session, entries, origins)


def _without_tools(
    session: SessionConfig, entries: Mapping[Provider, ProviderEntry], origins: Mapping[str, str]
) -> str | None:
    for role in ROLES:
        for name in cast("tuple[str, ...]", getattr(session.routes, role)):
            entry = entries.get(name.partition("/")[0])
            if entry is not None and not entry.abilities.tool_calls:
                return (
                    f"{origins[f'models.{role}']}: models.{role}: the provider of {name!r} is "
                    "declared to know no tool calls, and agents do everything by tools; choose "
                    "another model"
                )
    return None


def _without_reviewer(
    session: SessionConfig, entries: Mapping[Provider, ProviderEntry], origins: Mapping[str, str]
) -> str | None:
    def families(route: Sequence[str]) -> set[str]:
        return {family_of(name, entries, session.catalogue).casefold() for name in route}

    authors = families(session.routes.developer)
    if families(session.routes.reviewer) - authors:
        return None
    return (
        f"{origins['models.reviewer']}: models.reviewer: every reviewer is of the developers' own "
        f"family ({', '.join(sorted(authors))}); add a model of another family"
    )
