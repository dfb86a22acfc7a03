import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.gates.detection import MAX_TEST_FILES, detect_gates, files_to_read

PYTEST = ("python", "-m", "pytest", "-q")
UNITTEST = ("python", "-m", "unittest", "discover")
CASE = b"import unittest\nclass T(unittest.TestCase):\n    def test_x(self): pass\n"
FUNCTION = b"def test_x():\n    assert True\n"


def commands(files: dict[str, bytes]) -> list[tuple[str, ...]]:
    return [gate.argv for gate in detect_gates(files)]


@pytest.mark.parametrize(
    "files",
    [
        {"pytest.ini": b""},
        {"conftest.py": b""},
        {"pyproject.toml": b"[tool.pytest.ini_options]\n"},
        {"setup.cfg": b"[tool:pytest]\naddopts = -q\n"},
        {"tox.ini": b"[pytest]\n"},
        {"tests/test_a.py": FUNCTION},
        {"pkg/a_test.py": b"import pytest\n"},
        {"tests/test_a.py": CASE, "requirements-dev.txt": b"pytest==9\n"},
        {"tests/test_a.py": CASE, "pyproject.toml": b'[project]\ndependencies = ["pytest"]\n'},
        {"tests/test_a.py": CASE, "tests/conftest.py": b""},
        {"tests/test_a.py": CASE, "tests/test_b.py": FUNCTION},
        {"tests/test_a.py": b"from shop.testing import Case\n"},
        {"a/test_a.py": CASE, "b/test_b.py": CASE},
        {"tests/a_test.py": CASE},
    ],
)
def test_pytest(files: dict[str, bytes]):
    assert commands(files) == [PYTEST]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"test_a.py": CASE}, UNITTEST),
        ({"tests/__init__.py": b"", "tests/test_a.py": CASE}, UNITTEST),
        ({"tests/test_a.py": CASE}, (*UNITTEST, "-s", "tests")),
        (
            {"t/a/__init__.py": b"", "t/a/test_a.py": CASE, "t/test_b.py": CASE},
            (*UNITTEST, "-s", "t"),
        ),
    ],
)
def test_unittest_finds_the_tests(
    files: dict[str, bytes], expected: tuple[str, ...], tmp_path: Path
):
    assert commands(files) == [expected]
    for path, content in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(content)
    ran = subprocess.run(
        [sys.executable, *expected[1:]], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    tests = sum(content == CASE for content in files.values())
    assert f"Ran {tests} test" in ran.stderr


@pytest.mark.parametrize(
    ("extra", "program"),
    [
        ({}, "npm"),
        ({"package-lock.json": b""}, "npm"),
        ({"pnpm-lock.yaml": b""}, "pnpm"),
        ({"yarn.lock": b""}, "yarn"),
    ],
)
def test_the_package_manager_is_that_of_the_lock(extra: dict[str, bytes], program: str):
    files = {"package.json": b'{"scripts": {"test": "jest"}}', **extra}
    assert commands(files) == [(program, "test")]


def test_the_package_manager_that_is_named_wins():
    package = b'{"packageManager": "pnpm@9.1.0", "scripts": {"test": "vitest"}}'
    assert commands({"package.json": package, "yarn.lock": b""}) == [("pnpm", "test")]


@pytest.mark.parametrize(
    "package",
    [
        b"{}",
        b"[]",
        b"no json",
        b'{"scripts": []}',
        b'{"scripts": {"test": ""}}',
        b'{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}',
    ],
)
def test_without_a_test_script_there_is_no_npm_gate(package: bytes):
    assert detect_gates({"package.json": package}) == ()


def test_go_and_cargo():
    assert commands({"go.mod": b"module m\n", "a.go": b""}) == [("go", "test", "./...")]
    assert commands({"go.mod": b"module m\n"}) == []
    (gate,) = detect_gates({"Cargo.toml": b""})
    assert gate.argv == ("cargo", "test", "--no-fail-fast")
    assert gate.timeout == timedelta(minutes=20)


@pytest.mark.parametrize(
    "makefile",
    [b"test:\n\ttrue\n", b"all: x\ntest: all\n", b"check test : x\n", b"a:\n\ttrue\ntest::\n"],
)
def test_make_test(makefile: bytes):
    assert commands({"Makefile": makefile}) == [("make", "test")]


@pytest.mark.parametrize(
    "makefile", [b"tests:\n", b"test := 1\n", b"test = 1\n", b".PHONY: test\n", b"\ttest:\n"]
)
def test_no_make_target(makefile: bytes):
    assert commands({"Makefile": makefile}) == []


def test_make_only_where_nothing_better_is_there():
    makefile = {"Makefile": b"test:\n\tpytest\n"}
    assert commands({**makefile, "pytest.ini": b""}) == [PYTEST]
    linted = commands({**makefile, "ruff.toml": b""})
    assert [argv[0] for argv in linted] == ["ruff", "make"]


@pytest.mark.parametrize(
    "files",
    [
        {"ruff.toml": b""},
        {".ruff.toml": b""},
        {"pyproject.toml": b"[tool.ruff.lint]\nselect = ['E']\n"},
    ],
)
def test_ruff_never_rewrites(files: dict[str, bytes]):
    assert commands(files) == [
        ("ruff", "check", "--no-fix", "--output-format", "concise"),
    ]


def test_quick_gates_come_first_and_are_marked_as_detected():
    files = {
        "Cargo.toml": b"",
        "go.mod": b"",
        "a.go": b"",
        "package.json": b'{"scripts": {"test": "jest"}}',
        "pytest.ini": b"",
        "ruff.toml": b"",
    }
    gates = detect_gates(files)
    assert [gate.name for gate in gates] == ["ruff", "pytest", "npm-test", "go-test", "cargo-test"]
    assert {gate.source for gate in gates} == {"detected"}


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"README.md": b"run pytest"},
        {"src/main.c": b""},
        {"pyproject.toml": b"not [ toml"},
        {"pyproject.toml": b"tool = 3\n"},
        {"setup.cfg": b"no section\n"},
        {"requirements.txt": b"pytest\n"},
        {"node_modules/x/test_a.py": FUNCTION, ".venv/lib/test_b.py": FUNCTION},
        {"frontend/package.json": b'{"scripts": {"test": "jest"}}'},
    ],
)
def test_nothing_is_invented(files: dict[str, bytes]):
    assert detect_gates(files) == ()


def test_only_the_named_files_need_to_be_read():
    files = {
        "pyproject.toml": b"[tool.ruff]\n",
        "requirements/dev.txt": b"pytest\n",
        "tests/test_a.py": CASE,
        "src/huge.py": b"x" * 10,
        "Makefile": b"test:\n",
    }
    read = files_to_read(files)
    assert read == ("Makefile", "pyproject.toml", "requirements/dev.txt", "tests/test_a.py")
    assert detect_gates({path: files[path] if path in read else b"" for path in files}) == (
        detect_gates(files)
    )
    assert len(files_to_read(f"tests/test_{n}.py" for n in range(500))) == MAX_TEST_FILES


NAMES = ["pyproject.toml", "package.json", "setup.cfg", "tox.ini", "Makefile", "tests/test_a.py"]


@given(st.dictionaries(st.sampled_from(NAMES), st.binary() | st.text().map(str.encode)))
def test_any_content_is_read_without_a_fault(files: dict[str, bytes]):
    names = [gate.name for gate in detect_gates(files)]
    assert len(names) == len(set(names))
