"""Proposes the set-up of a Python project: a virtual environment in `.venv`, by its own tool.

| the project has                        | set-up                                             |
|----------------------------------------|----------------------------------------------------|
| `uv.lock`                              | `uv sync`, with all groups and extras              |
| `poetry.lock`                          | `poetry install`, the same                         |
| `pdm.lock`                             | `pdm sync`, the same                               |
| a build system, requirements, tests of | pip, with extras, groups and requirement files     |
| pytest or of third parties             | that are named after tests or development          |
| none of these                          | none                                               |

If the sandbox lacks the tool, set-up first installs it outside the project, for set-up only. Tests
run on all cores if the project installs pytest-xdist and runs its own tests so.
"""

import re
import shlex
from collections.abc import Iterator
from typing import cast

from activities.projects.manifests import (
    Files,
    Table,
    as_table,
    first_line,
    ini_value,
    is_named,
    table,
    text,
    texts,
    toml,
)
from activities.projects.proposal import Proposal, ToolchainNeed, after, hide
from workflows.domain.gate import GateSpec

_PYTHON = ".venv/bin/python"
_TESTING = re.compile(r"(?:dev|develop|development|tests?|testing|unit|ci|check|lint|typing)s?\Z")
_REQUIREMENTS = re.compile(
    r"(?:requirements/)?(?:(?:requirements)?[-_.]?(?:dev|develop|tests?|testing|ci)"
    r"(?:[-_.]?requirements)?|requirements)\.txt\Z"
)
_DEEPEST = 10
_TOOLS = {"pytest": "pytest", "ruff": "ruff"}
_PLAIN_REQUIREMENT = re.compile(r"[A-Za-z0-9][\w.-]*(?:\[[\w., -]+\])?[\w.,<>=!~ *;'\"()-]*\Z")
_NOX_INSTALL = re.compile(r"\.install\(([^)]{1,500})\)")
_QUOTED = re.compile(r"[\"']([^\"'\n]{1,100})[\"']")
_ON_ALL_CORES = re.compile(
    r"(?:^|[\s\"':{])(?:-n|--numprocesses)[\"',=\s]{0,5}(?:auto|logical)\b", re.MULTILINE
)
_RUN_BY = ("tox.ini", "noxfile.py", "pyproject.toml", "Makefile", "justfile", "Justfile")
_OWN_OPTIONS = ("pytest.ini", "setup.cfg")
READ = frozenset(
    {
        *(".python-version", "pyproject.toml", "setup.py", "setup.cfg", "tox.ini", "noxfile.py"),
        *("uv.lock", "poetry.lock", "pdm.lock", ".gitignore", "pytest.ini"),
    }
)


def is_read(path: str) -> bool:
    """Say whether a file's content is needed."""
    return path in READ or _REQUIREMENTS.match(path) is not None


def propose_python(files: Files, found: tuple[GateSpec, ...]) -> Proposal:
    """Return what a Python project needs; empty if there is none.

    Args:
        files: paths relative to the project's folder, with their bytes.
        found: gates that were detected in its files, for any Python.
    """
    gates = [gate for gate in found if gate.argv[0] in {"python", "ruff"}]
    project = toml(files, "pyproject.toml")
    if not gates and not table(project, "project") and "setup.py" not in files:
        return Proposal()
    need = _need(files, project)
    said = tuple(_said(files, project))
    tools = [_TOOLS[gate.name] for gate in gates if gate.name in _TOOLS]
    missing = [tool for tool in tools if not is_named(tool, said)]
    setup = _by_tool(files, project, missing) or _by_pip(files, project, missing)
    if not setup:
        return Proposal(needs=(need,), gates=tuple(gates))
    cores = ("-n", "auto") if _is_on_all_cores(files, project, said) else ()
    return Proposal(
        needs=(need,),
        setup=(setup,),
        indexes=("pip",),
        gates=tuple(_in_environment(gate, cores) for gate in gates),
    )


def _in_environment(gate: GateSpec, cores: tuple[str, ...]) -> GateSpec:
    """Return a gate that runs with `.venv` activated, so that tests find installed programs."""
    if gate.argv[0] == "python":
        words = (*gate.argv, *(cores if gate.name == "pytest" else ()))
        argv = after(". .venv/bin/activate", words)
    else:
        argv = (f".venv/bin/{gate.argv[0]}", *gate.argv[1:])
    return GateSpec(name=gate.name, argv=argv, timeout=gate.timeout, cheap=gate.cheap)


def _is_on_all_cores(files: Files, project: Table, said: tuple[str, ...]) -> bool:
    """Say whether the project's own commands, not pytest's settings, run tests on all cores."""
    if not is_named("pytest-xdist", said):
        return False
    options = str(table(project, "tool", "pytest", "ini_options").get("addopts", ""))
    if any(
        _ON_ALL_CORES.search(each) for each in (options, *(text(files, f) for f in _OWN_OPTIONS))
    ):
        return False
    return any(_ON_ALL_CORES.search(text(files, each)) for each in _RUN_BY)


def _need(files: Files, project: Table) -> ToolchainNeed:
    if pinned := first_line(files, ".python-version"):
        return ToolchainNeed(language="python", version=pinned, evidence=".python-version")
    asked = table(project, "project").get("requires-python")
    version = asked if isinstance(asked, str) else ""
    evidence = "pyproject.toml" if "pyproject.toml" in files else "its Python files"
    return ToolchainNeed(language="python", version=version, evidence=evidence)


def _by_tool(files: Files, project: Table, missing: list[str]) -> str:
    """Return the set-up by the tool of the lock file; empty without a lock file."""
    if "uv.lock" in files:
        return _with_tool("uv", "uv sync --locked --all-groups --all-extras", missing)
    if "poetry.lock" in files:
        groups = ",".join(as_table(table(project, "tool", "poetry").get("group")))
        every = f" --with {shlex.quote(groups)}" if groups else ""
        command = f"POETRY_VIRTUALENVS_IN_PROJECT=1 poetry install -n --all-extras{every}"
        return _with_tool("poetry", command, missing)
    if "pdm.lock" in files:
        return _with_tool("pdm", "pdm sync -d -G :all", missing)
    return ""


def _with_tool(tool: str, command: str, missing: list[str]) -> str:
    here = f"python3 -m venv /tmp/{tool} && /tmp/{tool}/bin/pip install -q {tool}"
    parts = [f'export PATH="$PATH:/tmp/{tool}/bin"', f"command -v {tool} || ({here})", command]
    if missing:
        parts += ["python3 -m venv .venv", _pip(*missing)]
    return " && ".join((*parts, hide(".venv")))


def _by_pip(files: Files, project: Table, missing: list[str]) -> str:
    """Return the set-up by pip; empty if there is nothing to install."""
    wanted = [*missing, *_requirements(files)]
    wanted += _itself(files, project)
    wanted += _groups(project)
    wanted += _tox(files)
    if not wanted:
        return ""
    return " && ".join(("python3 -m venv .venv", hide(".venv"), _pip(*dict.fromkeys(wanted))))


def _pip(*wanted: str) -> str:
    words = " ".join(shlex.quote(each) for each in wanted)
    return f"{_PYTHON} -m pip install -q {words}"


def _itself(files: Files, project: Table) -> list[str]:
    """Return the project with its test extras, or only its dependencies if it is not a package."""
    told = table(project, "project")
    extras = as_table(told.get("optional-dependencies"))
    named = [name for name in extras if _TESTING.match(name.lower())]
    if "setup.py" in files or "build-system" in project:
        return ["-e", f".[{','.join(named)}]" if named else "."]
    needed = (*texts(told.get("dependencies")), *(t for name in named for t in texts(extras[name])))
    return [each for each in needed if _PLAIN_REQUIREMENT.match(each)]


def _requirements(files: Files) -> list[str]:
    return [f"-r{path}" for path in sorted(files) if _REQUIREMENTS.match(path)]


def _groups(project: Table) -> list[str]:
    """Return the test requirements of dependency groups and of hatch's environments."""
    groups = as_table(project.get("dependency-groups"))
    found = [
        each for name in groups if _TESTING.match(name.lower()) for each in _group(groups, name)
    ]
    environments = table(project, "tool", "hatch", "envs")
    for name in ("default", "test", "tests", "hatch-test"):
        environment = as_table(environments.get(name))
        found += texts(environment.get("dependencies"))
        found += texts(environment.get("extra-dependencies"))
    return [each for each in found if _PLAIN_REQUIREMENT.match(each)]


def _group(groups: Table, name: str, depth: int = 0) -> Iterator[str]:
    """Return the requirements of one group and of the groups that it includes."""
    items = groups.get(name)
    if not isinstance(items, list) or depth > _DEEPEST:
        return
    yield from texts(cast("list[object]", items))
    for item in cast("list[object]", items):
        if isinstance(included := as_table(item).get("include-group"), str):
            yield from _group(groups, included, depth + 1)


def _tox(files: Files) -> list[str]:
    """Return what tox and nox install for tests, if it is written literally."""
    lines = ini_value(files, "tox.ini", "testenv", "deps").splitlines()
    lines += [
        quoted
        for call in _NOX_INSTALL.findall(text(files, "noxfile.py"))
        for quoted in _QUOTED.findall(call)
    ]
    plain = (line.strip() for line in lines)
    return [each for each in plain if each and _PLAIN_REQUIREMENT.match(each)]


def _said(files: Files, project: Table) -> Iterator[str]:
    """Return every requirement that set-up installs anyway."""
    yield from _groups(project)
    yield from _tox(files)
    extras = as_table(table(project, "project").get("optional-dependencies"))
    for name in extras:
        if _TESTING.match(name.lower()) or "uv.lock" in files:
            yield from texts(extras[name])
    for path in files:
        if _REQUIREMENTS.match(path):
            yield from text(files, path).splitlines()
    poetry = table(project, "tool", "poetry", "group")
    for group in poetry.values():
        yield from table(as_table(group), "dependencies")
    yield from table(project, "tool", "poetry", "dev-dependencies")
    for group in table(project, "tool", "pdm", "dev-dependencies").values():
        yield from texts(group)
    yield from texts(table(project, "tool", "uv").get("dev-dependencies"))
