"""What a person's own file would have to say for a repository: toolchains and hosts of set-up."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import JsonValue

from starter.machine.own_environment.index_hosts import index_hosts
from starter.machine.own_environment.installed_toolchains import find_toolchains, program_of
from workers.local.sandbox_programs import find_in_sandbox

if TYPE_CHECKING:
    from activities.projects.proposal import Proposal, ToolchainNeed


def own_lines(proposal: "Proposal") -> str:
    """Return the lines, ready to copy; empty where nothing has to be said.

    A toolchain is proposed where the project names a version, or the sandbox has no such program.
    """
    from starter.configuration.written_values import flow

    toolchains: list[str] = []
    variables: dict[str, str] = {}
    for need in filter(_is_missing, proposal.needs):
        found, with_it = find_toolchains(need, _home())
        toolchains += found
        variables |= dict(with_it)
    lines: list[str] = []
    if toolchains:
        told = f"toolchains: {flow(list[JsonValue](dict.fromkeys(toolchains)))}"
        more = f", variables: {flow(dict(variables))}" if variables else ""
        lines.append(f"environment: {{{told}{more}}}")
    hosts = {each: index_hosts(each, _home(), os.environ) for each in proposal.indexes}
    if proposal.indexes:
        found = list(dict.fromkeys(host for each in hosts.values() for host in each))
        unknown = ", ".join(each for each in hosts if not hosts[each])
        rest = f"  # add the hosts from which {unknown} takes packages" if unknown else ""
        lines.append(f"worktree: {{network: {flow(list[JsonValue](found))}}}{rest}")
    return "\n".join(lines)


def _is_missing(need: "ToolchainNeed") -> bool:
    return bool(need.version) or find_in_sandbox(program_of(need.language)) is None


def _home() -> Path:
    return Path(os.environ.get("HOME") or "/nonexistent")
