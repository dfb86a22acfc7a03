"""What a person's own file must contain for a repository: toolchains and hosts of set-up."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import JsonValue

from starter.machine.own_environment.default_indexes import default_hosts
from starter.machine.own_environment.index_access import access_lines, index_places
from starter.machine.own_environment.index_hosts import index_hosts
from starter.machine.own_environment.installed_toolchains import find_toolchains, program_of
from workers.hosting.registry_settings.setting_files import Person
from workers.local.sandbox_programs import find_in_sandbox

if TYPE_CHECKING:
    from activities.projects.proposal import Proposal, ToolchainNeed


def own_lines(proposal: "Proposal") -> str:
    """Return the lines, ready to copy; empty if none are needed.

    A toolchain is proposed if the project names a version, or the sandbox lacks the program.
    """
    from starter.configuration.written_values import flow

    toolchains: list[str] = []
    variables: dict[str, str] = {}
    for need in filter(_is_missing, proposal.needs):
        installed, with_it = find_toolchains(need, _home())
        toolchains += installed
        variables |= dict(with_it)
    person = Person(_home(), os.environ)
    for index in proposal.indexes:
        toolchains += index_places(index, person)
    hosts = {
        each: index_hosts(each, _home(), os.environ) or default_hosts(each)
        for each in proposal.indexes
    }
    found = list(dict.fromkeys(host for each in hosts.values() for host in each))
    said: dict[str, JsonValue] = {}
    if toolchains:
        said["toolchains"] = list[JsonValue](dict.fromkeys(toolchains))
    if variables:
        said["variables"] = dict[str, JsonValue](variables)
    if proposal.indexes:
        said |= access_lines(found, proposal.indexes, person)
    lines = [f"environment: {flow(said)}"] if said else []
    if proposal.indexes:
        unknown = ", ".join(each for each in hosts if not hosts[each])
        rest = f"  # add the hosts from which {unknown} takes packages" if unknown else ""
        lines.append(f"worktree: {{network: {flow(list[JsonValue](found))}}}{rest}")
    return "\n".join(lines)


def _is_missing(need: "ToolchainNeed") -> bool:
    return bool(need.version) or find_in_sandbox(program_of(need.language)) is None


def _home() -> Path:
    return Path(os.environ.get("HOME") or "/nonexistent")
