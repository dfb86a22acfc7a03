from pathlib import Path

import pytest

from activities.ports.toolchain_places import (
    ToolchainError,
    Toolchains,
    examine,
    masked_files,
)
from workflows.domain.environment import ProjectEnvironment


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    """A toolchain with one program."""
    (tmp_path / "node-22" / "bin").mkdir(parents=True)
    return tmp_path / "node-22"


def test_a_link_is_followed_to_its_end(prefix: Path, tmp_path: Path):
    (tmp_path / "lts").symlink_to("node-22")
    (tmp_path / "current").symlink_to(tmp_path / "lts")
    assert examine(str(tmp_path / "current")) == prefix.resolve()


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("/", "not one toolchain"),
        ("/home", "not one toolchain"),
        ("/etc", "the system's own state"),
        ("/proc/self", "the system's own state"),
        ("home", "would be seen with it"),
        ("home/.ssh", "keys are kept in '.ssh'"),
        ("home/.aws/cli", "keys are kept in '.aws'"),
        ("state", "would be seen with it"),
        ("state/host/repos", "which no command may see"),
        ("keys", "would be seen with it"),
    ],
)
def test_a_link_to_what_no_command_may_see_is_refused(tmp_path: Path, target: str, why: str):
    for name in ("home/.ssh", "home/.aws/cli", "state/host/repos", "keys"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "keys" / "anthropic").touch()
    link = tmp_path / "toolchain"
    link.symlink_to(target)
    kept = (tmp_path / "home", tmp_path / "keys" / "anthropic")
    with pytest.raises(ToolchainError, match=why) as refused:
        examine(str(link), kept, (tmp_path / "state",))
    assert "a link to" in str(refused.value)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("relative/place", "whole path"),
        ("/opt/../etc", "whole path"),
        ("/opt/a:/etc", "whole path"),
        ("/no/such/place", "No such file"),
        ("/etc/passwd", "not a directory"),
    ],
)
def test_an_invalid_toolchain_path_is_refused(name: str, why: str):
    with pytest.raises(ToolchainError, match=why):
        examine(name)


def test_a_loop_of_links_is_refused(tmp_path: Path):
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(ToolchainError, match="cannot be used"):
        examine(str(tmp_path / "loop"))


def test_files_with_tokens_are_masked_also_behind_a_link(prefix: Path):
    (prefix / "credentials.toml").write_text("token")
    (prefix / "kept").write_text("token")
    (prefix / ".npmrc").symlink_to("kept")
    (prefix / "credentials").symlink_to("/etc/passwd")
    assert set(masked_files(prefix)) == {prefix / "credentials.toml", prefix / "kept"}


def test_only_toolchains_known_to_the_host_are_shown(prefix: Path):
    offered = Toolchains({str(prefix): prefix})
    assert offered.wanted(ProjectEnvironment()) == {}
    with pytest.raises(ToolchainError, match="BLUEFLAME_TOOLCHAINS"):
        offered.wanted(ProjectEnvironment(toolchains=(str(prefix), "/opt/other")))
