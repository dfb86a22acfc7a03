"""Tables of manifests as they are found, and what is proposed for each."""

import json

import pytest

from activities.gates.run_summaries import names_passed
from activities.projects.manifests import Files
from activities.projects.project_look import project_files_to_read, propose
from activities.projects.proposal import Proposal

_TEST = b"def test_a(): pass\n"
_VENV = (
    "python3 -m venv .venv && echo '*' > .venv/.gitignore && .venv/bin/python -m pip install -q "
)


def looked(**files: str) -> Proposal:
    return propose({name.replace("__", "/"): text.encode() for name, text in files.items()})


def at(files: dict[str, str]) -> Proposal:
    every = {name: text.encode() for name, text in files.items()}
    read = set(project_files_to_read(every))
    return propose({name: data if name in read else b"" for name, data in every.items()})


def gates(proposal: Proposal) -> list[str]:
    return [f"{gate.name}: {' '.join(gate.argv)}" for gate in proposal.gates]


@pytest.mark.parametrize(
    ("files", "installed"),
    [
        ({"conftest.py": ""}, "pytest"),
        ({"conftest.py": "", "requirements.txt": "pytest\n"}, "-rrequirements.txt"),
        (
            {"conftest.py": "", "requirements.txt": "", "requirements/test.txt": "pytest==8\n"},
            "-rrequirements.txt -rrequirements/test.txt",
        ),
        ({"conftest.py": "", "setup.py": ""}, "pytest -e ."),
        (
            {
                "conftest.py": "",
                "pyproject.toml": "[build-system]\n[project]\nname='a'\n"
                "[project.optional-dependencies]\ntest=['pytest']\ndocs=['sphinx']\n",
            },
            "-e '.[test]'",
        ),
        (
            {
                "conftest.py": "",
                "pyproject.toml": "[project]\nname='a'\ndependencies=['attrs>=23', 'x @ file:/y']\n"
                "[dependency-groups]\ndev=[{include-group='test'}, 'ruff']\ntest=['pytest<9']\n",
            },
            "'attrs>=23' ruff 'pytest<9'",
        ),
        (
            {"conftest.py": "", "tox.ini": "[testenv]\ndeps =\n  pytest\n  -rx.txt\n  {env:A}\n"},
            "pytest",
        ),
        ({"conftest.py": "", "noxfile.py": "s.install('pytest', 'rich', '-e')"}, "pytest rich"),
        (
            {"pyproject.toml": "[tool.hatch.envs]\ntest.dependencies=['pytest']"},
            "pytest",
        ),
        ({"ruff.toml": "", "requirements.txt": "pytest"}, "ruff -rrequirements.txt"),
    ],
)  # fmt: skip
def test_a_python_project_gets_an_environment_of_its_own(files: dict[str, str], installed: str):
    proposal = at({**files, "test_a.py": _TEST.decode()})
    assert proposal.setup == (f"{_VENV}{installed}",)
    ran = """pytest: bash -c . .venv/bin/activate && exec "$@" bash python -m pytest -q"""
    assert ran in gates(proposal)
    assert proposal.indexes == ("pip",)


def test_a_project_that_needs_nothing_gets_no_set_up():
    proposal = at({"test_a.py": "import unittest\nclass A(unittest.TestCase): pass\n"})
    assert (proposal.setup, proposal.indexes) == ((), ())
    assert gates(proposal) == ["unittest: python -m unittest discover"]


@pytest.mark.parametrize(
    ("lock", "command"),
    [
        ("uv.lock", "uv sync --locked --all-groups --all-extras"),
        (
            "poetry.lock",
            "POETRY_VIRTUALENVS_IN_PROJECT=1 poetry install -n --all-extras --with dev",
        ),
        ("pdm.lock", "pdm sync -d -G :all"),
    ],
)
def test_the_tool_whose_lock_is_there_sets_up(lock: str, command: str):
    pyproject = (
        "[project]\nname='a'\nrequires-python='>=3.12'\n[dependency-groups]\ndev=['pytest']\n"
        "[tool.poetry.group.dev.dependencies]\npytest='*'\n"
    )
    files = {"pyproject.toml": pyproject, lock: "", "test_a.py": _TEST.decode(), "conftest.py": ""}
    (setup,) = at(files).setup
    tool = command.removeprefix("POETRY_VIRTUALENVS_IN_PROJECT=1 ").split()[0]
    assert f"command -v {tool} || (python3 -m venv /tmp/{tool}" in setup
    assert f" && {command} && echo '*' > .venv/.gitignore" in setup


_XDIST = "[dependency-groups]\ntests=['pytest', 'pytest-xdist[psutil]']\n"


@pytest.mark.parametrize(
    ("files", "is_spread"),
    [
        ({"tox.ini": "[testenv]\ncommands = pytest {posargs:-n auto}\n"}, True),
        (
            {"noxfile.py": "s.run('pytest', '-n', 'auto')\ns.run('pytest', '--numprocesses=auto')"},
            True,
        ),
        (
            {"Makefile": "test:\n\tpytest -n auto\n", "pytest.ini": "[pytest]\naddopts = -nauto\n"},
            False,
        ),
        ({"Makefile": "test:\n\tpytest\n"}, False),
        (
            {"tox.ini": "commands = pytest -n auto\n", "pyproject.toml": "[project]\nname='a'\n"},
            False,
        ),
    ],
)
def test_tests_run_on_all_cores_where_the_project_runs_them_so(
    files: dict[str, str], is_spread: bool
):
    said = {
        "pyproject.toml": f"[project]\nname='a'\n{_XDIST}",
        "test_a.py": _TEST.decode(),
        **files,
    }
    argv = at(said).gates[0].argv
    assert argv[4:] == ("python", "-m", "pytest", "-q", *(("-n", "auto") if is_spread else ()))


def test_versions_are_those_that_the_project_says():
    proposal = at(
        {
            ".python-version": "# a comment\n3.12.8\n",
            "setup.py": "",
            "package.json": "{}",
            ".nvmrc": "v22.11.0\n",
            "Cargo.toml": "[package]\nname='a'\n",
            "rust-toolchain.toml": "[toolchain]\nchannel='1.83.0'\n",
            "go.mod": "module a\n\ngo 1.22\n",
        }
    )
    said = [(need.language, need.version, need.evidence) for need in proposal.needs]
    assert said == [
        ("python", "3.12.8", ".python-version"),
        ("rust", "1.83.0", "rust-toolchain.toml"),
        ("go", "1.22", "go.mod"),
    ]


@pytest.mark.parametrize(
    ("files", "package", "setup"),
    [
        ({"package-lock.json": ""}, {}, "npm ci --no-audit --no-fund"),
        (
            {"pnpm-lock.yaml": ""},
            {"packageManager": "pnpm@9.1.0+sha512.x"},
            (
                "if command -v pnpm; then pnpm install --frozen-lockfile; "
                "else npx --yes pnpm@9.1.0 install --frozen-lockfile "
                "&& npm install -s --no-audit --no-fund --prefix node_modules/.manager "
                "pnpm@9.1.0; fi"
            ),
        ),
        (
            {"yarn.lock": "", ".yarnrc.yml": ""},
            {"packageManager": "yarn; rm -rf /"},
            (
                "if command -v yarn; then yarn install --immutable; "
                "else npx --yes yarn install --immutable "
                "&& npm install -s --no-audit --no-fund --prefix node_modules/.manager yarn; fi"
            ),
        ),
        ({"bun.lock": ""}, {}, "bun install --frozen-lockfile"),
        ({}, {}, "npm install --no-package-lock --no-audit --no-fund"),
    ],
)
def test_a_node_project_is_set_up_by_its_lock(
    files: dict[str, str], package: dict[str, str], setup: str
):
    told = {"devDependencies": {"a": "1"}, "scripts": {"test": "jest", "lint": "eslint"}, **package}
    ignored = {".gitignore": "/node_modules\n"}
    proposal = at({**files, **ignored, "package.json": json.dumps(told)})
    assert proposal.setup == (setup,)
    assert proposal.gates[0].name == "npm-lint"
    assert proposal.gates[1].argv[-1].endswith("test")


def test_a_gate_finds_the_package_manager_that_set_up_installed():
    package = {
        "packageManager": "yarn@4.1.0",
        "scripts": {"test": "x", "lint": "x"},
    }
    proposal = at({"yarn.lock": "", "package.json": json.dumps(package)})
    assert "npx --yes @yarnpkg/cli-dist@4.1.0 install" in proposal.setup[0]
    script = 'export PATH="$PATH:$PWD/node_modules/.manager/node_modules/.bin" && exec "$@"'
    assert proposal.gates[0].argv == ("bash", "-c", script, "bash", "yarn", "run", "lint")
    assert proposal.gates[1].argv == ("bash", "-c", script, "bash", "yarn", "test")


def test_packages_that_git_does_not_ignore_are_kept_out_of_the_work():
    (setup,) = at({"package.json": '{"name": "a"}', "package-lock.json": ""}).setup
    hidden = "mkdir -p node_modules && echo '*' > node_modules/.gitignore"
    assert setup == f"npm ci --no-audit --no-fund && {hidden}"


_BUILD = {"build": "tsc", "test": "mocha"}


@pytest.mark.parametrize(
    ("package", "is_built"),
    [
        ({"main": "dist/index.js", "scripts": _BUILD}, True),
        ({"exports": {".": {"import": "./dist/index.mjs"}}, "scripts": _BUILD}, True),
        ({"main": "./lib/index", "scripts": _BUILD}, False),
        ({"main": "lib", "exports": {"./*": "./dist/*"}, "scripts": _BUILD}, False),
        ({"scripts": _BUILD}, False),
        ({"main": "dist/index.js", "scripts": {"test": "mocha"}}, False),
        ({"main": "dist", "scripts": {**_BUILD, "pretest": "npm run build"}}, False),
        ({"main": "dist", "scripts": {**_BUILD, "test": "npm run build && mocha"}}, False),
    ],
)
def test_tests_of_what_is_not_committed_follow_its_build(
    package: dict[str, object], is_built: bool
):
    proposal = at({"package.json": json.dumps(package), "lib/index.js": ""})
    build = ("bash", "-c", 'npm run build && exec "$@"', "bash") if is_built else ()
    (gate,) = proposal.gates
    assert (gate.name, gate.argv) == ("npm-test", (*build, "npm", "test"))


@pytest.mark.parametrize(
    ("files", "setup", "gate"),
    [
        (
            {"Cargo.toml": "[dependencies]\nserde='1'\n", "Cargo.lock": ""},
            "mkdir -p target && echo '*' > target/.gitignore && cargo fetch --locked",
            "cargo-test",
        ),
        (
            {"go.mod": "module a\n", "go.sum": "x", "a.go": ""},
            "go mod vendor && echo '*' > vendor/.gitignore",
            "go-test",
        ),
        ({"Gemfile": "", ".rspec": ""}, "bundle install", "rspec"),
        ({"composer.json": '{"scripts": {"test": "x"}}'}, "composer install", "composer-test"),
        ({"pom.xml": ""}, "mvn -q", "maven-test"),
        ({"build.gradle.kts": "", "gradlew": ""}, "./gradlew testClasses", "gradle-test"),
        ({"mix.exs": ""}, "mix deps.get", "mix-test"),
    ],
)
def test_other_languages_keep_what_they_fetch_in_the_worktree(
    files: dict[str, str], setup: str, gate: str
):
    proposal = at(files)
    assert setup in proposal.setup[0]
    assert [each.name for each in proposal.gates] == [gate]
    assert len(proposal.indexes) == 1


@pytest.mark.parametrize(
    ("files", "gate"),
    [
        ({"justfile": "build:\n\ntest *args:\n  x\n"}, "just-test: just test"),
        ({"Taskfile.yml": "tasks:\n  test:\n    cmds: [x]\n"}, "task-test: task test"),
        ({"Makefile": "test:\n\tx\n"}, "make-test: make test"),
        ({"justfile": "test := 1\n"}, None),
    ],
)
def test_a_task_runner_is_asked_where_nothing_else_tests(files: dict[str, str], gate: str | None):
    assert gates(at(files)) == ([gate] if gate else [])


def test_packages_of_a_monorepo_are_set_up_in_their_folders():
    proposal = at(
        {
            "README.md": "",
            "services/api/pyproject.toml": "[project]\nname='a'\n[tool.pytest.ini_options]\n",
            "services/api/tests/test_a.py": _TEST.decode(),
            "web/package.json": '{"scripts": {"test": "node --test"}}',
            "web/package-lock.json": "",
            "web/.gitignore": "node_modules/",
            "web/node_modules/x/package.json": "{}",
            "examples/x/package.json": "{}",
        }
    )
    assert proposal.setup == (
        f"cd services/api && {{ {_VENV}pytest; }}",
        "cd web && { npm ci --no-audit --no-fund; }",
    )
    assert [gate.name for gate in proposal.gates] == ["services-api-pytest", "web-npm-test"]
    script = 'cd services/api && . .venv/bin/activate && exec "$@"'
    assert proposal.gates[0].argv == ("bash", "-c", script, "bash", "python", "-m", "pytest", "-q")
    assert names_passed(proposal.gates[0].argv)
    assert proposal.gates[1].argv == ("bash", "-c", 'cd web && exec "$@"', "bash", "npm", "test")


def test_a_workspace_is_set_up_by_its_root():
    proposal = at(
        {
            "package.json": '{"workspaces": ["packages/*"], "scripts": {"test": "x"}}',
            "package-lock.json": "",
            ".gitignore": "node_modules",
            "packages/a/package.json": '{"scripts": {"test": "x"}}',
        }
    )
    assert proposal.setup == ("npm ci --no-audit --no-fund",)
    assert gates(proposal) == ["npm-test: npm test"]


def test_ci_commands_are_quoted_and_do_not_become_gates():
    workflow = (
        "name: pytest\njobs:\n  a:\n    steps:\n      - uses: x/pytest@1\n"
        "      - run: tox -e py312\n      - run: |\n          cargo test --all\n          curl x\n"
        "        with:\n          tox-env: a\n        info: >\n          Runs what tox says\n"
    )
    proposal = at({".github/workflows/ci.yml": workflow})
    assert proposal.notes == ("CI runs: tox -e py312", "CI runs: cargo test --all")
    assert proposal.gates == ()


@pytest.mark.parametrize("content", [b"\xff\xfe", b"[", b"{" * 100_000, b"[[[[", b"a = 1\na = 2"])
def test_manifests_that_cannot_be_read_say_nothing(content: bytes):
    names = ("pyproject.toml", "package.json", "Cargo.toml", "go.mod", "tox.ini", "composer.json")
    files: Files = dict.fromkeys(names, content)
    assert propose(files).notes == ()


def test_words_of_a_repository_stay_words():
    evil = "[project]\nname='a'\ndependencies=['a; $(touch /x)', 'b`c`', \"d'e\"]\n"
    (setup,) = at({"pyproject.toml": evil, "conftest.py": "", "test_a.py": ""}).setup
    assert "touch" not in setup
    assert "`" not in setup
