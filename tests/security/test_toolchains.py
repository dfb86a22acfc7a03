"""Toolchains in the sandbox: read-only, nothing beside them, and no package of Blue Flame."""

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from activities.adapters.sandbox.bubblewrap import BubblewrapSandbox
from activities.adapters.sandbox.unconfined import UnconfinedSandbox
from activities.ports.sandbox_port import SandboxCommand, SandboxUnavailableError, Workspace
from activities.ports.toolchain_places import Toolchains, examine
from workflows.domain.environment import ProjectEnvironment

pytestmark = pytest.mark.sandbox


class Shelf:
    """Toolchains below one closed folder, and a sandbox that offers them."""

    def __init__(self, top: Path) -> None:
        self.home = top / "home"
        self.home.mkdir()
        self.tree = top / "tree"
        self.tree.mkdir()
        self.offered: dict[str, Path] = {}

    def add(self, name: str, program: str, says: str) -> Path:
        """Make a toolchain with one program."""
        prefix = self.home / name
        (prefix / "bin").mkdir(parents=True)
        (prefix / "bin" / program).write_text(f"#!/bin/sh\necho {says} $*\n")
        (prefix / "bin" / program).chmod(0o755)
        self.offer(prefix)
        return prefix

    def offer(self, prefix: Path) -> None:
        self.offered[str(prefix)] = examine(str(prefix), (self.home,))

    async def run(self, script: str, *names: Path, variables: Sequence[str] = ()) -> str:
        environment = ProjectEnvironment(
            toolchains=tuple(map(str, names)),
            variables=dict(each.split("=", 1) for each in variables),
        )
        workspace = Workspace(path=self.tree, environment=environment)
        sandbox = BubblewrapSandbox(offered=Toolchains(self.offered))
        command = SandboxCommand(argv=("bash", "-c", script), workspace=workspace)
        return (await sandbox.run(command)).output.decode()


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path)


async def test_programs_are_found_in_the_order_of_the_toolchains(shelf: Shelf):
    first, second = shelf.add("a", "tool", "one"), shelf.add("b", "tool", "two")
    assert await shelf.run("tool x", first, second) == "one x\n"
    assert await shelf.run("tool x", second, first) == "two x\n"


async def test_variables_are_set_but_what_we_set_ourselves_stands(shelf: Shelf):
    script = "echo $GOPATH $BLUEFLAME_INSIDE"
    said = await shelf.run(script, variables=("GOPATH=/go", "BLUEFLAME_INSIDE=no"))
    assert said == "/go 1\n"


async def test_what_no_session_asks_for_is_not_shown(shelf: Shelf):
    prefix = shelf.add("a", "tool", "one")
    assert "No such file" in await shelf.run(f"ls {prefix}; ls {shelf.home}")


async def test_what_the_host_was_not_told_of_is_refused(shelf: Shelf, tmp_path: Path):
    with pytest.raises(SandboxUnavailableError, match="BLUEFLAME_TOOLCHAINS"):
        await shelf.run("true", tmp_path)


async def test_nothing_can_be_written_or_seen_beside_it(shelf: Shelf):
    prefix = shelf.add("a", "tool", "one")
    (shelf.home / "secret").write_text("canary-1")
    (prefix / "out").symlink_to(shelf.home / "secret")
    (prefix / "up").symlink_to("..")
    script = (
        f"echo x >{prefix}/bin/tool; touch {prefix}/new; ln -s / {prefix}/root; rm -rf {prefix};"
        f"chmod 777 {prefix}/bin/tool; cat {prefix}/out {prefix}/up/secret {prefix}/../secret;"
        f"mv {prefix} {prefix}.old; ls -A {shelf.home}; mount -o remount,rw {prefix}; tool"
    )
    said = await shelf.run(script, prefix)
    assert "canary-1" not in said
    assert said.endswith("one\n")
    assert (prefix / "bin" / "tool").read_text() == "#!/bin/sh\necho one $*\n"
    assert sorted(each.name for each in prefix.iterdir()) == ["bin", "out", "up"]


async def test_a_link_is_shown_as_what_it_led_to_when_the_worker_started(shelf: Shelf):
    prefix = shelf.add("v1", "tool", "one")
    link = shelf.home / "current"
    link.symlink_to("v1")
    shelf.offer(link)
    link.unlink()
    (shelf.home / "private").mkdir()
    (shelf.home / "private" / "key").write_text("canary-1")
    link.symlink_to("private")
    said = await shelf.run(f"cat {link}/key; tool; {link}/bin/tool; readlink {link}", link)
    assert "canary-1" not in said
    assert said.endswith(f"one\none\n{prefix}\n")


async def test_a_toolchain_within_another_and_a_link_beside_it_are_both_there(shelf: Shelf):
    outer = shelf.add("pyenv", "pyenv", "outer")
    inner = shelf.add("pyenv/versions/3.12.8", "py", "inner")
    alias = outer / "versions" / "3.12"
    alias.symlink_to("3.12.8")
    shelf.offer(alias)
    said = await shelf.run(f"pyenv; py; {alias}/bin/py", outer, inner, alias)
    assert said == "outer\ninner\ninner\n"


async def test_tokens_in_a_toolchain_are_not_shown(shelf: Shelf):
    prefix = shelf.add("cargo", "cargo", "built")
    (prefix / "credentials.toml").write_text("canary-1")
    said = await shelf.run(f"cat {prefix}/credentials.toml; cargo", prefix)
    assert said == "built\n"


async def test_a_device_or_a_pipe_in_a_toolchain_blocks_nothing(shelf: Shelf):
    prefix = shelf.add("a", "tool", "one")
    (prefix / "credentials").symlink_to("/dev/zero")
    assert await shelf.run("tool", prefix) == "one\n"


_OURS = "for p in python python3; do $p -c 'import temporalio' || $p -c 'import pytest'; done; true"


async def test_no_package_of_blue_flame_can_be_imported(shelf: Shelf):
    said = await shelf.run(
        f"python -c 'print(1)'; {_OURS}; {sys.executable} -c 'import temporalio'"
    )
    assert said.startswith("1\n")
    assert said.count("No module named 'temporalio'") == 2
    assert "BLUEFLAME" not in said


async def test_no_package_of_blue_flame_is_on_any_interpreters_path(shelf: Shelf):
    script = "find / -xdev -name temporalio -not -path '/proc/*' 2>/dev/null; echo done"
    assert await shelf.run(script) == "done\n"


async def test_a_projects_own_python_comes_before_any_other(shelf: Shelf):
    prefix = shelf.add("3.13", "python3", "theirs")
    assert await shelf.run("python3 a; python b", prefix) == "theirs a\ntheirs b\n"


async def test_search_is_offered_without_our_environment(shelf: Shelf):
    (shelf.tree / "a.txt").write_text("needle\n")
    assert await shelf.run("rg -l needle") == "a.txt\n"


async def test_without_a_sandbox_the_same_programs_are_found(shelf: Shelf):
    prefix = shelf.add("3.13", "python3", "theirs")
    environment = ProjectEnvironment(toolchains=(str(prefix),), variables={"GOPATH": "/go"})
    command = SandboxCommand(
        argv=("bash", "-c", "python3; python; echo $GOPATH; rg --version >/dev/null && echo rg"),
        workspace=Workspace(path=shelf.tree, environment=environment),
    )
    ran = await UnconfinedSandbox(offered=Toolchains(shelf.offered)).run(command)
    assert ran.output.decode() == "theirs\ntheirs\n/go\nrg\n"
    bare = UnconfinedSandbox()
    with pytest.raises(SandboxUnavailableError, match="BLUEFLAME_TOOLCHAINS"):
        await bare.run(command)
