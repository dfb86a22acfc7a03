"""`starter.machine.repository_look`: what it finds; tests/badinput has the odd repositories."""

import subprocess
from pathlib import Path

import pytest

from starter.console.command_errors import CommandError
from starter.machine import repository_look

AUTHOR = ("-c", "user.name=t", "-c", "user.email=t@example.invalid")


def _git(path: Path, *arguments: str) -> str:
    run = subprocess.run(
        ["git", *AUTHOR, *arguments], cwd=path, check=True, capture_output=True, text=True
    )
    return run.stdout.strip()


def _repository(path: Path) -> Path:
    path.mkdir()
    _git(path, "init", "-q", "-b", "main")
    (path / "test_a.py").write_text("def test_a(): pass\n")
    (path / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    _git(path, "add", ".")
    _git(path, "commit", "-qm", "first")
    return path


async def test_a_repository_is_found_from_a_folder_in_it(tmp_path: Path) -> None:
    root = _repository(tmp_path / "r")
    (root / "sub").mkdir()
    found = await repository_look.examine(root / "sub", None)
    assert (found.root, found.base) == (root, "main")
    assert found.commit == _git(root, "rev-parse", "HEAD")


async def test_its_gates_are_named_with_their_commands(tmp_path: Path) -> None:
    found = await repository_look.examine(_repository(tmp_path / "r"), "main")
    assert any(gate.startswith("pytest (") for gate in await repository_look.gates(found))
    assert [gate.name for gate in await repository_look.detected_gates(found)] == ["pytest"]


async def test_a_detached_head_is_a_base(tmp_path: Path) -> None:
    root = _repository(tmp_path / "r")
    _git(root, "checkout", "-q", "--detach")
    assert (await repository_look.examine(root, None)).base.endswith("(detached)")


async def test_a_bare_repository_is_one(tmp_path: Path) -> None:
    root = _repository(tmp_path / "r")
    _git(tmp_path, "clone", "-q", "--bare", str(root), "bare.git")
    found = await repository_look.examine(tmp_path / "bare.git", None)
    assert (found.root, found.is_bare) == (tmp_path / "bare.git", True)
    assert not (await repository_look.examine(root, None)).is_bare


async def test_the_root_is_found_or_the_path_is_not_a_folder(tmp_path: Path) -> None:
    assert await repository_look.find_root(tmp_path) is None
    root = _repository(tmp_path / "r")
    assert await repository_look.find_root(root) == root
    with pytest.raises(CommandError, match="is not a folder; name one with --repo"):
        await repository_look.find_root(tmp_path / "nowhere")


@pytest.mark.parametrize("base", ["nope", "--help", "main:test_a.py", ""])
async def test_names_a_base_that_is_not_a_commit(tmp_path: Path, base: str) -> None:
    root = _repository(tmp_path / "r")
    if base == "":
        assert (await repository_look.examine(root, base)).base == "main"
        return
    with pytest.raises(CommandError, match=f"'{base}' is not a branch, tag or commit"):
        await repository_look.examine(root, base)


async def test_nothing_of_the_repository_is_run(tmp_path: Path) -> None:
    root = _repository(tmp_path / "r")
    trap = f"touch {tmp_path}/PWNED"
    for key in ("core.fsmonitor", "diff.external", "core.sshCommand", "core.pager"):
        _git(root, "config", key, trap)
    await repository_look.gates(await repository_look.examine(root, None))
    assert not (tmp_path / "PWNED").exists()
