"""What an agent may write: the table of `denies`."""

import pytest

from workflows.domain.agent.tool_policy import ToolPolicy
from workflows.domain.gate import GateSpec
from workflows.policy.commands.protected_names import (
    LOCK_FILES,
    PROTECTED,
    RUN_BY_THEMSELVES,
)
from workflows.policy.commands.protection import (
    denies,
    gate_files,
    write_denial,
)
from workflows.policy.plan.claims import claim_fault
from workflows.policy.text.lenient_names import as_read_elsewhere


@pytest.mark.parametrize(
    "path",
    [
        ".git",
        ".git/config",
        "sub/.GIT/hooks/x",
        ".gitmodules",
        "blueflame.yaml",
        ".github/workflows/ci.yml",
        ".gitlab-ci.yml",
        ".circleci/config.yml",
        "Jenkinsfile",
        # Field report G44: as some file system reads them, and other services.
        *("Blueflame.yaml", ".GitHub/workflows/ci.yml", "jenkinsfile", "blueflame.yaml."),
        *(
            "BLUEFLAME.YAML ",
            "blueflame.yaml::$DATA",
            ".github\u200c/workflows/x",
            "blue\u3164flame.yaml",
        ),
        *(".git /config", ".g\u200cit/config", "git~1/config", ".cirrus.yml", "appveyor.yml"),
        *("buildspec.yml", "buildspec-release.yml", ".teamcity/settings.kts", "cloudbuild.yaml"),
        *("azure-pipelines-nightly.yml", "Jenkinsfile.release", ".builds/debian.yml"),
    ],
)
def test_the_judge_is_protected_whatever_is_claimed(path: str):
    assert denies(path, ("**", path)) == (
        f"{path!r} is protected: agents never change it; leave it as it is"
    )


@pytest.mark.parametrize("path", [".gitignore", ".github/CODEOWNERS", "Makefile", "pyproject.toml"])
def test_neighbours_and_sources_of_gates_are_free(path: str):
    assert denies(path, ("**",)) is None


def test_outside_the_claims_is_denied_with_them():
    assert denies("b/x.py", ("a/**", "c")) == "'b/x.py' is outside this task's claims (a/**, c)"


LOCKS = ["poetry.lock", "uv.lock", "web/package-lock.json", "go.sum", "requirements-dev.lock"]


@pytest.mark.parametrize("path", LOCKS)
@pytest.mark.parametrize("claim", ["**", "**/*", "**/**"])
def test_a_claim_on_everything_names_no_lock_file(path: str, claim: str):
    assert denies(path, (claim, "src/**")) == (
        f"{path!r} is a lock file: only a task whose claims name it may change it"
    )


@pytest.mark.parametrize("path", LOCKS)
def test_a_lock_file_that_a_claim_names_may_be_written(path: str):
    assert denies(path, ("**", path)) is None
    assert denies(path, ("**", f"**/{path.rpartition('/')[2]}")) is None


@pytest.mark.parametrize(
    ("path", "claim"),
    [("Cargo.lock", "*.lock"), ("web/yarn.lock", "web/**"), ("web/go.sum", "web")],
)
def test_a_pattern_that_says_more_than_everything_is_enough(path: str, claim: str):
    assert denies(path, (claim,)) is None


@pytest.mark.parametrize("path", ["lock", "src/lock.py", "padlock.json", "requirements.txt"])
def test_what_only_sounds_like_a_lock_file_is_none(path: str):
    assert denies(path, ("**",)) is None


_RUN = [name for names in RUN_BY_THEMSELVES.values() for name in names]


@pytest.mark.parametrize("pattern", [*PROTECTED, *LOCK_FILES, *_RUN])
def test_every_rule_can_match(pattern: str):
    assert claim_fault(pattern) is None


@pytest.mark.parametrize(
    ("path", "who"),
    [
        (".vscode/tasks.json", "VS Code"),
        ("web/.VSCode/Tasks.json", "VS Code"),
        (".devcontainer/devcontainer.json", "a development container"),
        (".envrc", "the shell of everyone who enters the folder"),
        (".husky/pre-commit", "git's hooks"),
        (".idea/runConfigurations/x.xml", "an IDE of JetBrains"),
        (".claude/settings.local.json", "a coding agent"),
        ("src/.gdbinit", "a debugger"),
    ],
)
def test_what_a_tool_runs_by_itself_needs_a_claim_that_names_it(path: str, who: str):
    """Field report G44."""
    assert denies(path, ("**",)) == (
        f"{path!r} is a file that {who} obeys by itself: only a task whose claims name it may "
        "change it"
    )
    assert denies(path, ("**", path)) is None


@pytest.mark.parametrize(
    "path", [".vscode/extensions.json", "docs/tasks.json", "husky/x", "src/claude.py", "run.xml"]
)
def test_what_only_sounds_like_it_is_free(path: str):
    assert denies(path, ("**",)) is None


@pytest.mark.parametrize("path", ["a/b.py", "./a", "../a", "a/.b", "..", "."])
def test_an_ordinary_path_is_read_as_it_is(path: str):
    assert as_read_elsewhere(path) == path


RULES = ToolPolicy(
    protected_paths=("tests/base/**",), blocked_paths=("secret",), write_paths=("src", "secret")
)


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        ("src/a.py", None),
        ("tests/base/test_a.py", "protected"),
        ("secret/x", "blocked"),
        ("lib/a.py", "write-paths"),
        ("src/uv.lock", "named-only"),
        ("src/gate.sh", "named-only"),
    ],
)
def test_what_a_person_names_narrows_what_is_claimed(path: str, rule: str | None):
    denied = write_denial(path, ("**",), RULES, ("src/gate.sh",))
    assert (denied.rule if denied else None) == rule


def test_a_denial_lists_only_some_claims():
    claims = tuple(f"a{number}" for number in range(12))
    denied = write_denial("b", claims, ToolPolicy(), ())
    assert denied is not None
    assert "a7 and 4 more; scratch files" in denied.instead


MAKEFILES = ("GNUmakefile", "makefile", "Makefile")


@pytest.mark.parametrize(
    ("argv", "files"),
    [
        (("scripts/check",), ("scripts/check",)),
        (("./ci/run", "x"), ("ci/run",)),
        (("bash", "-e", "ci/run.sh"), ("ci/run.sh",)),
        (("bash", "-c", "ls src && make"), MAKEFILES),
        (("python", "-"), ()),
        (("make", "test"), MAKEFILES),
        (("/usr/bin/true",), ()),
        (("../x/y",), ()),
    ],
)
def test_the_files_that_gates_start(argv: tuple[str, ...], files: tuple[str, ...]):
    gates = (GateSpec(name="one", argv=argv), GateSpec(name="two", argv=argv))
    assert gate_files(gates) == files


@pytest.mark.parametrize(
    ("argv", "path"),
    [
        (("python", "-m", "pytest", "-q"), "conftest.py"),
        (("python", "-m", "pytest", "-q"), "pyproject.toml"),
        (("pytest",), "pytest.ini"),
        (("bash", "-e", "-o", "pipefail", "-c", "uv run pytest -x"), "tox.ini"),
        (("tox",), "tox.ini"),
        (("nox",), "noxfile.py"),
        (("make", "test"), "Makefile"),
        (("npm", "test"), "package.json"),
        (("npm", "test"), "jest.config.mjs"),
        (("pnpm", "test"), "vitest.config.ts"),
        (("ruff", "check"), "ruff.toml"),
    ],
)
def test_what_says_what_a_gate_runs_is_written_only_where_the_plan_names_it(
    argv: tuple[str, ...], path: str
):
    starts = gate_files((GateSpec(name="tests", argv=argv, source="detected"),))
    assert denies(path, ("**",), starts=starts) is not None
    assert denies(path, (path,), starts=starts) is None
    assert denies(f"src/{path}.txt", ("**",), starts=starts) is None
