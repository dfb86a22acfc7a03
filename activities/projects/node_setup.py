"""Proposes the set-up of a Node project by its lock file, and gates from its scripts.

| the project has                      | set-up                            |
|--------------------------------------|-----------------------------------|
| `package-lock.json`                  | `npm ci`                          |
| `pnpm-lock.yaml`                     | pnpm, of the version that it names|
| `yarn.lock`                          | yarn, the same                    |
| `bun.lock`, `bun.lockb`              | `bun install`                     |
| dependencies, and no lock file       | `npm install`, without writing one|
| none of these                        | none                              |

If git does not ignore `node_modules`, set-up adds a `.gitignore` to it. If the files that the
package publishes are not committed (`dist/index.js`), its tests run after its own build.
"""

import re
import shlex
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import cast

from activities.projects.manifests import Files, Table, first_line, json_object, table, text
from activities.projects.proposal import Proposal, ToolchainNeed, after, hide
from workflows.domain.gate import GateSpec

READ = frozenset({"package.json", ".nvmrc", ".node-version", ".yarnrc.yml", ".gitignore"})
_CHECKS = ("lint", "typecheck", "type-check")
_INSTALLED = frozenset({"pnpm", "yarn"})
_MANAGER = "node_modules/.manager"
"""Where set-up installs a package manager that the sandbox lacks."""
_LATER_YARN = "@yarnpkg/cli-dist"
"""Holds yarn from version 2 on."""
_ENTRIES = ("main", "module", "exports")
_ENDINGS = ("", ".js", ".json", ".node", "/index.js")
_DEEPEST = 10
_VERSION = re.compile(r"[a-z]+@\d[\w.-]*")


def propose_node(files: Files, found: tuple[GateSpec, ...]) -> Proposal:
    """Return what a Node project needs; empty if there is none.

    Args:
        files: paths relative to the project's folder, with their bytes.
        found: gates that were detected in its files.
    """
    package = json_object(files, "package.json")
    if not package:
        return Proposal()
    setup = _setup(files, package)
    if setup and "node_modules" not in text(files, ".gitignore"):
        setup += f" && mkdir -p node_modules && {hide('node_modules')}"
    return Proposal(
        needs=(_need(files, package),),
        setup=(setup,) if setup else (),
        indexes=("npm",) if setup else (),
        gates=tuple(_gates(files, package, found)),
    )


def _gates(files: Files, package: Table, found: tuple[GateSpec, ...]) -> Iterator[GateSpec]:
    tests = [gate for gate in found if gate.name.endswith("-test")]
    manager = tests[0].argv[0] if tests else "npm"
    for name in _CHECKS:
        if isinstance(table(package, "scripts").get(name), str):
            yield GateSpec(name=f"npm-{name}", argv=_command(manager, ("run", name)), cheap=True)
    before = [("run", "build")] if _is_built_for_tests(files, package) else []
    for gate in tests:
        argv = _command(manager, *before, gate.argv[1:])
        yield GateSpec(name=gate.name, argv=argv, timeout=gate.timeout, cheap=gate.cheap)


def _command(manager: str, *runs: tuple[str, ...]) -> tuple[str, ...]:
    """Return one command that runs a package manager, which set-up may have installed."""
    argv = (manager, *runs[-1])
    for run in reversed(runs[:-1]):
        argv = after(shlex.join((manager, *run)), argv)
    if manager in _INSTALLED:
        argv = after(f'export PATH="$PATH:$PWD/{_MANAGER}/node_modules/.bin"', argv)
    return argv


def _is_built_for_tests(files: Files, package: Table) -> bool:
    """Say whether tests need a build that they do not start themselves."""
    scripts = table(package, "scripts")
    if not isinstance(scripts.get("build"), str):
        return False
    if any("build" in str(scripts.get(name, "")) for name in ("pretest", "test")):
        return False
    entries = (each for name in _ENTRIES for each in _paths(package.get(name)))
    return any(not _is_committed(files, each) for each in entries)


def _paths(entry: object, depth: int = 0) -> Iterator[str]:
    """Return the files that an entry point of a package names, without patterns."""
    if isinstance(entry, str):
        yield from () if "*" in entry or entry.startswith("..") else (entry,)
    elif isinstance(entry, dict) and depth < _DEEPEST:
        for value in cast(Table, entry).values():
            yield from _paths(value, depth + 1)


def _is_committed(files: Files, path: str) -> bool:
    name = str(PurePosixPath(path))
    return name == "." or any(f"{name}{ending}" in files for ending in _ENDINGS)


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
    """Return a command that runs a package manager; npm first installs it if it is missing."""
    named = package.get("packageManager")
    exact = _VERSION.match(named) if isinstance(named, str) else None
    wanted = exact[0] if exact and exact[0].startswith(f"{manager}@") else manager
    if wanted.startswith("yarn@") and not wanted.startswith(("yarn@0", "yarn@1.")):
        wanted = wanted.replace("yarn", _LATER_YARN, 1)
    return (
        f"if command -v {manager}; then {manager} {arguments}; "
        f"else npx --yes {wanted} {arguments} "
        f"&& npm install -s --no-audit --no-fund --prefix {_MANAGER} {wanted}; fi"
    )
