"""The set-up of a Node project by its lock file, and gates of its scripts.

| the project has                      | set-up                            |
|--------------------------------------|-----------------------------------|
| `package-lock.json`                  | `npm ci`                          |
| `pnpm-lock.yaml`                     | pnpm, of the version that it names|
| `yarn.lock`                          | yarn, the same                    |
| `bun.lock`, `bun.lockb`              | `bun install`                     |
| dependencies, and no lock file       | `npm install`, without writing one|
| none of these                        | none                              |
"""

import re

from activities.projects.manifests import Files, Table, first_line, json_object, table
from activities.projects.proposal import Proposal, ToolchainNeed
from workflows.domain.gate import GateSpec

READ = frozenset({"package.json", ".nvmrc", ".node-version", ".yarnrc.yml"})
_CHECKS = ("lint", "typecheck", "type-check")
_VERSION = re.compile(r"[a-z]+@\d[\w.-]*")


def propose_node(files: Files, found: tuple[GateSpec, ...]) -> Proposal:
    """Return what a Node project needs; empty where there is none.

    Args:
        files: paths from the project's folder on, with their bytes.
        found: gates that its files show.
    """
    package = json_object(files, "package.json")
    if not package:
        return Proposal()
    setup = _setup(files, package)
    return Proposal(
        needs=(_need(files, package),),
        setup=(setup,) if setup else (),
        indexes=("npm",) if setup else (),
        gates=(*_checks(package), *(gate for gate in found if gate.name.endswith("-test"))),
    )


def _need(files: Files, package: Table) -> ToolchainNeed:
    for name in (".nvmrc", ".node-version"):
        if pinned := first_line(files, name):
            return ToolchainNeed(language="node", version=pinned, evidence=name)
    asked = table(package, "engines").get("node")
    version = asked if isinstance(asked, str) else ""
    return ToolchainNeed(language="node", version=version, evidence="package.json")


def _setup(files: Files, package: Table) -> str:
    if {"package-lock.json", "npm-shrinkwrap.json"} & files.keys():
        return "npm ci --no-audit --no-fund"
    if "pnpm-lock.yaml" in files:
        return _by("pnpm", package, "install --frozen-lockfile")
    if "yarn.lock" in files:
        fixed = "--immutable" if ".yarnrc.yml" in files else "--frozen-lockfile"
        return _by("yarn", package, f"install {fixed}")
    if {"bun.lock", "bun.lockb"} & files.keys():
        return "bun install --frozen-lockfile"
    needs = {"dependencies", "devDependencies", "workspaces"}
    is_needed = any(package.get(key) for key in needs)
    return "npm install --no-package-lock --no-audit --no-fund" if is_needed else ""


def _by(manager: str, package: Table, arguments: str) -> str:
    """Run a package manager; where the sandbox has none, npm fetches it for this once."""
    named = package.get("packageManager")
    exact = _VERSION.match(named) if isinstance(named, str) else None
    version = exact[0] if exact and exact[0].startswith(f"{manager}@") else manager
    return (
        f"if command -v {manager}; then {manager} {arguments}; "
        f"else npx --yes {version} {arguments}; fi"
    )


def _checks(package: Table) -> tuple[GateSpec, ...]:
    scripts = table(package, "scripts")
    return tuple(
        GateSpec(name=f"npm-{name}", argv=("npm", "run", name), cheap=True)
        for name in _CHECKS
        if isinstance(scripts.get(name), str)
    )
