from pathlib import Path

import pytest

from activities.projects.proposal import Language, ToolchainNeed
from starter.machine.own_environment.installed_toolchains import find_toolchains

INSTALLED = (
    ".pyenv/versions/3.11.9",
    ".pyenv/versions/3.12.8",
    ".local/share/uv/python/cpython-3.13.1-linux-x86_64-gnu",
    ".nvm/versions/node/v9.1.0",
    ".nvm/versions/node/v22.11.0",
    ".sdkman/candidates/java/21.0.5-tem",
    ".cargo",
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for name in INSTALLED:
        (tmp_path / name / "bin").mkdir(parents=True)
    (tmp_path / ".cargo" / "bin" / "cargo").touch()
    (tmp_path / ".pyenv" / "versions" / "3.14.0").mkdir()  # half removed: it has no programs
    return tmp_path


@pytest.mark.parametrize(
    ("language", "version", "found"),
    [
        ("python", "3.12.8", "~/.pyenv/versions/3.12.8"),
        ("python", "3.12", "~/.pyenv/versions/3.12.8"),
        ("python", ">=3.11,<3.13", "~/.pyenv/versions/3.12.8"),
        ("python", ">=3.11", "~/.local/share/uv/python/cpython-3.13.1-linux-x86_64-gnu"),
        ("python", "~=3.11.2", "~/.pyenv/versions/3.11.9"),
        ("python", "3.10", None),
        ("python", "<=3.10", None),
        ("node", "v22", "~/.nvm/versions/node/v22.11.0"),
        ("node", ">=18 <23", "~/.nvm/versions/node/v22.11.0"),
        ("node", "^9.0.0", "~/.nvm/versions/node/v9.1.0"),
        ("node", "lts/*", "~/.nvm/versions/node/v22.11.0"),
        ("ruby", "", None),
    ],
)
def test_the_newest_that_fits_is_named(
    home: Path, language: Language, version: str, found: str | None
):
    need = ToolchainNeed(language=language, version=version, evidence="x")
    names, variables = find_toolchains(need, home)
    assert names == ((found,) if found else ())
    assert variables == ()


def test_what_belongs_to_a_toolchain_comes_with_it(home: Path):
    java = ToolchainNeed(language="java", version="", evidence="x")
    rust = ToolchainNeed(language="rust", version="", evidence="x")
    name = "~/.sdkman/candidates/java/21.0.5-tem"
    assert find_toolchains(java, home) == ((name,), (("JAVA_HOME", name),))
    assert find_toolchains(rust, home) == (("~/.cargo",), ())
    (home / ".rustup").mkdir()
    assert find_toolchains(rust, home) == (
        ("~/.cargo", "~/.rustup"),
        (("RUSTUP_HOME", "~/.rustup"),),
    )
