"""The promises of the project's own files: the lock, the documents, the borders of the packages."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("activities", "starter", "workers", "workflows")

# Spelled so that this file does not contain what it forbids.
REGISTRY_HOSTS = re.compile(
    "|".join(
        host.replace("_", ".").replace(".", r"\.")
        for host in (
            "pypi_org",
            "pythonhosted_org",
            "npmjs_org",
            "npmjs_com",
            "deb_debian_org",
            "archive_ubuntu_com",
            "docker_io/",
            "proxy_golang_org",
            "crates_io",
        )
    )
)
FORBIDDEN_IN_WORKFLOWS = (
    "anthropic",
    "openai",
    "google.genai",
    "git",
    "httpx",
    "httpx2",
    "uvicorn",
)


def _project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def _names(requirements: list[str]) -> set[str]:
    return {re.split(r"[<>=~! ]", requirement, maxsplit=1)[0] for requirement in requirements}


def _tracked() -> list[Path]:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout: there is no list of tracked files")
    listing = subprocess.run(
        ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return [path for name in listing.split("\0") if name and (path := ROOT / name).is_file()]


def _locked() -> dict[str, str]:
    lock = (ROOT / "requirements.lock").read_text()
    return dict(re.findall(r"^([a-z0-9.-]+)==(\S+)", lock, re.MULTILINE))


def _functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def test_lock_names_packages_and_hashes_only():
    package = re.compile(r"[a-z0-9.-]+==[a-z0-9.]+( ; [^/:]+)? \\")
    digest = re.compile(r"    --hash=sha256:[0-9a-f]{64}( \\)?")
    for line in (ROOT / "requirements.lock").read_text().splitlines():
        assert line.startswith("#") or package.fullmatch(line) or digest.fullmatch(line), line
        assert "://" not in line
        assert not line.startswith("#") or not re.search(r"\w\.(org|com|io)|/opt|/root", line)


def test_lock_holds_every_declared_package():
    project = _project()
    declared = _names(project["project"]["dependencies"] + project["dependency-groups"]["dev"])
    assert {name.replace(".", "-") for name in declared} <= set(_locked())


def test_build_backend_comes_from_the_lock():
    project = _project()
    assert _names(project["build-system"]["requires"]) <= _names(
        project["dependency-groups"]["dev"]
    )


def test_contributing_explains_exactly_the_declared_packages():
    project = _project()
    text = (ROOT / "CONTRIBUTING.md").read_text()
    run_time, checks = text.split("### At run time")[1].split("### For checks only")
    for section, requirements in (
        (run_time, project["project"]["dependencies"]),
        (checks, project["dependency-groups"]["dev"]),
    ):
        rows = re.findall(
            r"^\| ([a-z0-9.-]+) \| (.+?) \| (.+?) \| (.+?) \|$", section, re.MULTILINE
        )
        explained = [name for name, *_ in rows if name != "package"]
        assert explained == sorted(_names(requirements))


def test_agents_file_is_short():
    assert len((ROOT / "AGENTS.md").read_text().splitlines()) <= 60


@pytest.mark.parametrize("command", ["make demo", "make test"])
def test_readme_names_the_two_commands(command: str):
    assert re.search(rf"^{command} ", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert re.search(
        rf"^{command.split()[1]}: setup ", (ROOT / "Makefile").read_text(), re.MULTILINE
    )


def test_tracked_files_name_no_registry_host():
    found = [
        f"{path.relative_to(ROOT)}: {match.group()}"
        for path in _tracked()
        if (match := REGISTRY_HOSTS.search(path.read_bytes().decode(errors="replace")))
    ]
    assert found == []


def test_scripts_can_be_started():
    places = {ROOT / "scripts", ROOT / ".ci"}
    scripts = [path for path in _tracked() if path.parent in places and not path.suffix]
    assert scripts
    for script in scripts:
        assert script.read_text().startswith("#!"), script
        assert script.stat().st_mode & 0o111, f"{script} is not executable: chmod +x it"


def test_what_is_searched_along_branches_are_properties():
    script = ast.parse((ROOT / "scripts" / "fuzz_coverage.py").read_text())
    (targets,) = [
        ast.literal_eval(node.value)
        for node in script.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "TARGETS"
    ]
    assert targets
    for target in targets:
        module, _, name = target.partition(":")
        path = ROOT.joinpath("tests", "unit", *module.split(".")).with_suffix(".py")
        found = [
            [ast.unparse(each) for each in node.decorator_list]
            for node in ast.parse(path.read_text()).body
            if isinstance(node, ast.FunctionDef) and node.name == name
        ]
        assert any(each.startswith("given(") for marks in found for each in marks), target


@pytest.mark.parametrize(("option", "code"), [("--help", 0), ("--hlep", 2)])
def test_real_run_with_an_option_starts_nothing(option: str, code: int):
    command = [sys.executable, "-P", str(ROOT / "scripts/real_run.py"), option]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (told.returncode, "usage: scripts/real_run" in told.stdout + told.stderr) == (code, True)


def test_workflows_import_no_effects():
    probe = "\n".join(
        (
            "import importlib, pkgutil, sys, workflows",
            "for found in pkgutil.walk_packages(workflows.__path__, 'workflows.'):",
            "    importlib.import_module(found.name)",
            f"ours = {('activities', 'starter', 'workers')!r}",
            f"theirs = {FORBIDDEN_IN_WORKFLOWS!r}",
            "print(*[name for name in ours + theirs if name in sys.modules])",
        )
    )
    ran = subprocess.run(
        [sys.executable, "-c", probe], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.split() == []


def test_only_the_live_view_loads_textual():
    imports = "import sys, starter.cli, starter.live.live_watch"
    loaded = "[name for name in sys.modules if name.partition('.')[0] == 'textual']"
    command = [sys.executable, "-c", f"{imports}; print(*{loaded})"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr, ran.stdout.split()) == (0, "", [])


@pytest.mark.parametrize("package", PACKAGES)
def test_every_module_says_what_it_does(package: str):
    silent = [
        str(path.relative_to(ROOT))
        for path in (ROOT / package).rglob("*.py")
        if not ast.get_docstring(ast.parse(path.read_text()))
    ]
    assert silent == []


@pytest.mark.parametrize("package", PACKAGES)
def test_no_function_is_longer_than_fifty_lines(package: str):
    long = [
        f"{path.relative_to(ROOT)}:{function.lineno} {function.name}"
        for path in (ROOT / package).rglob("*.py")
        for function in _functions(path)
        if (function.end_lineno or 0) - function.body[0].lineno >= 50
    ]
    assert long == []
