"""Combines the proposals for a repository: for its root, and for the packages below it.

A package is a folder with its own manifest that the root does not already set up.
"""

import re
import shlex
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import Final

from activities.gates import detection
from activities.projects import ci_commands, node_setup, other_setups, python_setup
from activities.projects.manifests import Files, json_object, table, toml
from activities.projects.package_scopes import package_scope
from activities.projects.proposal import Proposal, after
from workflows.domain.gate import GateSpec

MAX_PACKAGES: Final = 12
_DEPTH: Final = 3
_MANIFESTS: Final = ("pyproject.toml", "setup.py", "package.json", "go.mod", "Cargo.toml")
_FOREIGN: Final = re.compile(
    r"(?:^|/)(?:node_modules|vendor|third_party|site-packages|venv|build|dist|examples?|fixtures?"
    r"|templates?|tests?|testdata|docs?|\.[^/]+)(?:/|$)"
)
_TASKS: Final = (
    ("just-test", ("justfile", "Justfile"), rb"^@?test\b[^=:\n]*:(?!=)", ("just", "test")),
    ("task-test", ("Taskfile.yml", "Taskfile.yaml"), rb"^  test:", ("task", "test")),
)


def project_files_to_read(paths: Iterable[str]) -> tuple[str, ...]:
    """Return the files whose content `propose` reads; of all others it needs only the name."""
    every = tuple(paths)
    found = [path for path in every if ci_commands.is_read(path)]
    for folder in ("", *_package_folders(every)):
        inside = [path.removeprefix(folder) for path in every if path.startswith(folder)]
        wanted = {*detection.files_to_read(inside), *filter(_is_read, inside)}
        found += [f"{folder}{path}" for path in sorted(wanted)]
    return tuple(dict.fromkeys(found))


def propose(files: Files) -> Proposal:
    """Return toolchains, set-up and gates for a repository; pure.

    Args:
        files: every committed path with its bytes; those outside `project_files_to_read` may be
            empty.
    """
    covered = _covered(files)
    folders = [each for each in _package_folders(files) if _manifest(files, each) not in covered]
    apart = tuple(folders)
    root = _propose_folder({path: files[path] for path in files if not path.startswith(apart)})
    for folder in folders:
        scope = package_scope(files, folder, folders)
        root += _moved(_propose_folder(_below(files, folder)), folder, scope)
    if not any(_judges(gate) for gate in root.gates):
        root += Proposal(gates=tuple(_tasks(files)))
    seen = ci_commands.ci_commands(files)
    return root + Proposal(notes=tuple(f"CI runs: {line}" for line in seen))


def _is_read(path: str) -> bool:
    names = {
        *node_setup.READ,
        *other_setups.READ,
        *(name for _, all_, _, _ in _TASKS for name in all_),
    }
    return path in names or python_setup.is_read(path)


def _propose_folder(files: Files) -> Proposal:
    found = detection.detect_gates(files)
    whole = python_setup.propose_python(files, found)
    whole += node_setup.propose_node(files, found)
    whole += other_setups.propose_other(files, found)
    taken = {gate.name for gate in whole.gates}
    return whole + Proposal(gates=tuple(gate for gate in found if gate.name not in taken))


def _judges(gate: GateSpec) -> bool:
    """Say whether a gate runs tests, not only a linter."""
    return "test" in gate.name or gate.name in {"rspec", "rake", "phpunit"}


def _tasks(files: Files) -> Iterator[GateSpec]:
    for gate, names, pattern, argv in _TASKS:
        if any(re.search(pattern, files.get(name, b""), re.MULTILINE) for name in names):
            yield GateSpec(name=gate, argv=argv)


def _package_folders(paths: Iterable[str]) -> tuple[str, ...]:
    """Return the folders below the root with a manifest, each with a final slash."""
    folders = {
        f"{PurePosixPath(path).parent}/"
        for path in paths
        if path.rpartition("/")[2] in _MANIFESTS and 1 < len(path.split("/")) <= _DEPTH + 1
    }
    own = sorted(folder for folder in folders if not _FOREIGN.search(folder))
    outer = [each for each in own if not any(each != o and each.startswith(o) for o in own)]
    return tuple(outer[:MAX_PACKAGES])


def _below(files: Files, folder: str) -> dict[str, bytes]:
    return {
        path.removeprefix(folder): content
        for path, content in files.items()
        if path.startswith(folder)
    }


def _manifest(files: Files, folder: str) -> str:
    return next(name for name in _MANIFESTS if f"{folder}{name}" in files)


def _covered(files: Files) -> set[str]:
    """Return the manifests of packages that the root's own set-up and gates cover."""
    covered: set[str] = set()
    if json_object(files, "package.json").get("workspaces") or "pnpm-workspace.yaml" in files:
        covered.add("package.json")
    if table(toml(files, "Cargo.toml"), "workspace"):
        covered.add("Cargo.toml")
    if table(toml(files, "pyproject.toml"), "tool", "uv", "workspace"):
        covered.add("pyproject.toml")
    return covered


def _moved(proposal: Proposal, folder: str, scope: tuple[str, ...]) -> Proposal:
    """Return a package's proposal with paths and commands relative to the repository's root."""
    place = folder.rstrip("/")
    prefix = re.sub(r"[^a-z0-9]+", "-", place.lower()).strip("-")
    enter = f"cd {shlex.quote(place)}"
    return Proposal(
        needs=proposal.needs,
        setup=tuple(f"{enter} && {{ {each}; }}" for each in proposal.setup),
        indexes=proposal.indexes,
        variables={
            name: value.replace("/workspace/", f"/workspace/{folder}")
            for name, value in proposal.variables.items()
        },
        gates=tuple(
            _gate_in(gate, f"{prefix}-{gate.name}"[:63], enter, scope) for gate in proposal.gates
        ),
        notes=proposal.notes,
    )


def _gate_in(gate: GateSpec, name: str, enter: str, scope: tuple[str, ...]) -> GateSpec:
    return GateSpec(
        name=name,
        argv=after(enter, gate.argv),
        timeout=gate.timeout,
        cheap=gate.cheap,
        paths=scope,
    )
