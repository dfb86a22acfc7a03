"""Detects the gates that a repository already has, from its committed files.

Pure: it gets names and contents, and runs nothing. It returns a gate only if the repository itself
uses the tool, so the answer may be empty. It looks only at the root; `activities.projects` looks at
the packages of a monorepo.
"""

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from configparser import Error as IniError
from configparser import RawConfigParser
from datetime import timedelta
from pathlib import PurePosixPath

from activities.gates import gitleaks
from activities.text.foreign_json import table, text
from workflows.domain.gate import GateSpec

Files = Mapping[str, bytes]

MAX_TEST_FILES = 40
"""Test files that are read to tell pytest from unittest."""

_READ = frozenset(
    {
        "Makefile",
        "GNUmakefile",
        "makefile",
        "package.json",
        "pyproject.toml",
        "setup.cfg",
        "tox.ini",
        "setup.py",
        "Pipfile",
        ".pre-commit-config.yaml",
    }
)
_HOOKS = ".pre-commit-config.yaml"
_OTHERS = frozenset({"package.json", _HOOKS})
"""Read, but not to find out whether pytest is used."""
_GITLEAKS_HOOK = re.compile(rb"^[ \t]*(?:-[ \t]+)?id:[ \t]*[\"']?gitleaks", re.MULTILINE)
_REQUIREMENTS = re.compile(r"(?:requirements[^/]*|requirements/[^/]+)\.(?:txt|in)\Z")
_PYTHON_TEST = re.compile(r"(?:test_[^/]*|[^/]*_test)\.py\Z")
_FOREIGN = frozenset(
    {"node_modules", "vendor", "third_party", "site-packages", "venv", "build", "dist", "examples"}
)
"""Folders whose tests are not the repository's own."""
_NPM_STUB = "no test specified"
_MAKE_TEST = re.compile(rb"^(?:[\w./-]+[ \t]+)*test(?:[ \t]+[\w./-]+)*[ \t]*::?(?!=)", re.MULTILINE)
_PYTEST_WORD = re.compile(rb"\bpytest\b")
_PYTEST_STYLE = re.compile(
    rb"^[ \t]*(?:import|from)[ \t]+pytest\b|^(?:async )?def test", re.MULTILINE
)
_UNITTEST_STYLE = re.compile(
    rb"^[ \t]*(?:import|from)[ \t]+unittest\b|\bunittest\.TestCase\b", re.MULTILINE
)


def files_to_read(paths: Iterable[str]) -> tuple[str, ...]:
    """Return the files whose content `detect_gates` reads; of all others it needs only the name.

    Args:
        paths: every committed path, relative, with `/`.
    """
    every = sorted(paths)
    tests = [path for path in every if _is_python_test(path)][:MAX_TEST_FILES]
    named = [path for path in every if path in _READ or _REQUIREMENTS.match(path)]
    return (*named, *tests)


def detect_gates(files: Files) -> tuple[GateSpec, ...]:
    """Find the repository's own checks, quick ones first.

    Args:
        files: every committed path with its bytes; those outside `files_to_read` may be empty.

    Returns:
        The gates, with the source `detected`; empty if there are none.
    """
    found = [gate for detect in _DETECTORS for gate in detect(files)]
    if all(gate.name in _NO_TESTS for gate in found):
        found.extend(_make(files))
    return tuple(found)


def _ruff(files: Files) -> list[GateSpec]:
    configured = "ruff.toml" in files or ".ruff.toml" in files or "ruff" in _tools(files)
    if not configured:
        return []
    # A configured `fix = true` would make the gate rewrite what it judges.
    argv = ("ruff", "check", "--no-fix", "--output-format", "concise")
    return [_gate("ruff", argv, minutes=2, cheap=True)]


def _gitleaks(files: Files) -> list[GateSpec]:
    used = ".gitleaks.toml" in files or ".gitleaksignore" in files
    if not used and _GITLEAKS_HOOK.search(files.get(_HOOKS, b"")) is None:
        return []
    return [_gate(gitleaks.PROGRAM, gitleaks.COMMAND, minutes=5, cheap=True)]


def _python(files: Files) -> list[GateSpec]:
    tests = [path for path in sorted(files) if _is_python_test(path)]
    if _pytest_is_configured(files) or (tests and _is_pytest_named(files)):
        return [_gate("pytest", _PYTEST)]
    if not tests:
        return []
    argv = _unittest_command(files, tests) or _PYTEST
    return [_gate("pytest" if argv == _PYTEST else "unittest", argv)]


_PYTEST = ("python", "-m", "pytest", "-q")


def _pytest_is_configured(files: Files) -> bool:
    if {"pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "conftest.py"} & files.keys():
        return True
    return (
        "pytest" in _tools(files)
        or _has_section(files, "setup.cfg", "tool:pytest")
        or _has_section(files, "tox.ini", "pytest")
    )


def _is_pytest_named(files: Files) -> bool:
    """Say whether the repository uses pytest: a requirement, a tox command, a conftest."""
    if any(PurePosixPath(path).name == "conftest.py" for path in files):
        return True
    asked = [path for path in files if path in _READ or _REQUIREMENTS.match(path)]
    return any(_PYTEST_WORD.search(files[path]) for path in asked if path not in _OTHERS)


def _unittest_command(files: Files, tests: list[str]) -> tuple[str, ...] | None:
    """Return the unittest command that finds all of `tests`; None if pytest suits them better."""
    texts = [files[path] for path in tests[:MAX_TEST_FILES]]
    if any(_PYTEST_STYLE.search(text) for text in texts):
        return None
    if not all(_UNITTEST_STYLE.search(text) for text in texts):
        return None
    if not all(PurePosixPath(path).name.startswith("test") for path in tests):
        return None  # discovery takes test*.py only
    start = _discovery_start(files, tests)
    if start is None:
        return None
    command = ("python", "-m", "unittest", "discover")
    return command if start == "." else (*command, "-s", start)


def _discovery_start(files: Files, tests: list[str]) -> str | None:
    """Return the folder from which discovery finds every test (it only descends into packages)."""
    starts = {_package_root(files, PurePosixPath(path).parent) for path in tests}
    return starts.pop() if len(starts) == 1 else None


def _package_root(files: Files, folder: PurePosixPath) -> str:
    while str(folder) != "." and str(folder / "__init__.py") in files:
        folder = folder.parent
    return str(folder)


def _node(files: Files) -> list[GateSpec]:
    script = _npm_test_script(files)
    if not script.strip() or _NPM_STUB in script:
        return []
    program = _package_manager(files)
    return [_gate(f"{program}-test", (program, "test"))]


def _npm_test_script(files: Files) -> str:
    return text(table(_package(files).get("scripts")).get("test"))


def _package_manager(files: Files) -> str:
    named = str(_package(files).get("packageManager", "")).split("@")[0]
    if named in {"npm", "pnpm", "yarn"}:
        return named
    if "pnpm-lock.yaml" in files:
        return "pnpm"
    return "yarn" if "yarn.lock" in files else "npm"


def _package(files: Files) -> dict[str, object]:
    try:
        return table(json.loads(files.get("package.json", b"{}")))
    except (ValueError, RecursionError):
        return {}


def _go(files: Files) -> list[GateSpec]:
    has_code = any(path.endswith(".go") for path in files)
    if "go.mod" not in files or not has_code:
        return []
    return [_gate("go-test", ("go", "test", "./..."))]


def _cargo(files: Files) -> list[GateSpec]:
    if "Cargo.toml" not in files:
        return []
    # Without it, the first failing target hides the results of the others.
    return [_gate("cargo-test", ("cargo", "test", "--no-fail-fast"), minutes=20)]


def _make(files: Files) -> list[GateSpec]:
    """Return `make test` if there is a makefile, in make's own order of file names."""
    for name in ("GNUmakefile", "makefile", "Makefile"):
        if name in files:
            has_target = _MAKE_TEST.search(files[name]) is not None
            return [_gate("make-test", ("make", "test"))] if has_target else []
    return []


_DETECTORS: tuple[Callable[[Files], list[GateSpec]], ...] = (
    _ruff,
    _gitleaks,
    _python,
    _node,
    _go,
    _cargo,
)
_NO_TESTS = frozenset({"ruff", "gitleaks"})
"""Gates that do not replace `make test`."""


def _gate(name: str, argv: tuple[str, ...], minutes: int = 10, *, cheap: bool = False) -> GateSpec:
    limit = timedelta(minutes=minutes)
    return GateSpec(name=name, argv=argv, timeout=limit, source="detected", cheap=cheap)


def _is_python_test(path: str) -> bool:
    parts = PurePosixPath(path).parts
    if any(part in _FOREIGN or part.startswith(".") for part in parts[:-1]):
        return False
    return _PYTHON_TEST.fullmatch(parts[-1]) is not None


def _tools(files: Files) -> dict[str, object]:
    """Return the tables under `[tool]` of pyproject.toml; empty if it is missing or not TOML."""
    try:
        data: dict[str, object] = tomllib.loads(_text(files.get("pyproject.toml", b"")))
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}
    return table(data.get("tool"))


def _has_section(files: Files, path: str, section: str) -> bool:
    parser = RawConfigParser(strict=False, allow_no_value=True)
    try:
        parser.read_string(_text(files.get(path, b"")))
    except IniError:
        return False
    return parser.has_section(section)


def _text(data: bytes) -> str:
    return data.decode("utf-8", errors="replace").removeprefix("\ufeff")
