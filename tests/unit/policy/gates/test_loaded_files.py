"""Which new files a gate's own tools would load, and which claims allow them."""

import pytest

from workflows.policy.gates.loaded_files import import_folders, is_allowed, why_loaded

TREE = (
    "setup.py",
    "app/__init__.py",
    "app/main.py",
    "plain/main.py",
    "src/app/__init__.py",
    "tests/test_a.py",
    "tests/unit/__init__.py",
    "tests/unit/test_b.py",
)


@pytest.mark.parametrize(
    "path",
    [
        "sitecustomize.py",
        "app/usercustomize.py",
        "sitecustomize/__init__.py",
        "x.pth",
        "lib/python/extra.pth",
        "pytest.py",
        "json.py",
        "json/__init__.py",
        "src/typing.py",
        "tests/re.py",
        "_pytest/__init__.py",
        "pluggy.pyc",
        "random.cpython-312-x86_64-linux-gnu.so",
        "evil-1.0.dist-info/entry_points.txt",
        "src/evil.egg-info/entry_points.txt",
        ".venv/bin/python",
        "vendor/site-packages/pytest.py",
        "tests/pytest.ini",
        "tests/unit/conftest.py",
        ".npmrc",
        "web/.npmrc",
        "web/.pnpmfile.cjs",
        ".yarnrc.yml",
        "bunfig.toml",
        "node_modules/.bin/jest",
        "web/node_modules/left-pad/index.js",
        ".cargo/config.toml",
        "crates/a/.cargo/config",
        "rust-toolchain.toml",
        "go.work",
        ".rspec",
        ".bundle/config",
        ".mvn/extensions.xml",
    ],
)
def test_g34_a_file_that_a_tool_loads_at_its_start_needs_a_claim_by_name(path: str):
    folders = import_folders((*TREE, path))
    name = path.rpartition("/")[2]
    assert why_loaded(path, folders)
    assert not is_allowed(path, ("**",))
    assert not is_allowed(path, ("**/*",))
    assert is_allowed(path, (path,))
    assert is_allowed(path, (f"**/{name}",))
    if name != "conftest.py":
        above = path.rpartition("/")[0]
        assert not is_allowed(path, (f"{above}/**" if above else "*",))


@pytest.mark.parametrize(
    "path",
    [
        "app/json.py",
        "src/app/types.py",
        "plain/json.py",
        "tests/unit/json.py",
        "tests/test_json.py",
        "my_pytest.py",
        "jsonfile.py",
        "docs/entry_points.txt",
        "config.toml",
        "cargo/config.toml",
        "src/main.rs",
        "json/data.txt",
        "docs/pytest.md",
    ],
)
def test_g34_an_ordinary_file_needs_no_other_claim_than_its_own(path: str):
    assert why_loaded(path, import_folders((*TREE, path))) is None


def test_a_binary_pth_file_is_not_loaded_by_python():
    assert why_loaded("model.pth", {""}, is_binary=True) is None


def test_a_conftest_is_allowed_by_any_claim_but_the_whole_repository():
    assert is_allowed("tests/unit/conftest.py", ("tests/**",))
    assert not is_allowed("tests/unit/conftest.py", ("**",))
