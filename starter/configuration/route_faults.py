"""Whether the routes of a configuration can work, as far as configuration tells. Pure."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from activities.ports.endpoints import ProviderEntry
from starter.configuration.default_routes import family_of
from workflows.domain.agent.model_values import GivenFacts, Provider

ROLES = ("planner", "developer", "reviewer")
_Routes = Mapping[str, Sequence[str]]
_Entries = Mapping[Provider, ProviderEntry]


class RouteFault(NamedTuple):
    """Why the routes cannot work."""

    role: str
    """Whose route says so."""
    said: str


def route_fault(
    routes: _Routes, entries: _Entries, catalogue: Mapping[str, GivenFacts]
) -> RouteFault | None:
    """Say why the routes cannot work.

    | routes                                                   | fault                         |
    |----------------------------------------------------------|-------------------------------|
    | name a server that is declared to know no tool calls     | agents do everything by tools |
    | name no reviewer of another family than the developers'  | no one could review           |

    Args:
        routes: the models of each role; one without any is not judged.
        entries: what is configured of providers.
        catalogue: what is configured of models.
    """
    return _without_tools(routes, entries) or _without_reviewer(routes, entries, catalogue)


def _without_tools(routes: _Routes, entries: _Entries) -> RouteFault | None:
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


def _without_reviewer(
    routes: _Routes, entries: _Entries, catalogue: Mapping[str, GivenFacts]
) -> RouteFault | None:
    def families(route: Sequence[str]) -> set[str]:
        return {family_of(name, entries, catalogue).casefold() for name in route}

    authors, reviewers = families(routes["developer"]), families(routes["reviewer"])
    if not authors or not reviewers or reviewers - authors:
        return None
    return RouteFault(
        "reviewer",
        f"every reviewer is of the developers' own family ({', '.join(sorted(authors))}); add a "
        "model of another family",
    )
