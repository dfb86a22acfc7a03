"""A snapshot beneath a workspace: seen, never written, and no one else's."""

from pathlib import Path

import pytest

from activities.adapters.sandbox.bubblewrap import BubblewrapSandbox
from activities.ports.sandbox_port import Layer, SandboxCommand, SandboxUnavailableError, Workspace

pytestmark = pytest.mark.sandbox


class Stage:
    """A snapshot with one folder, and workspaces above it."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.lower = top / "snapshot"
        (self.lower / "lib" / "old").mkdir(parents=True)
        (self.lower / "lib" / "module").write_text("installed\n")
        self.sandbox = BubblewrapSandbox()

    def workspace(self, name: str, *, writable: bool = True) -> Workspace:
        path = self.top / name
        path.mkdir(exist_ok=True)
        layer = Layer(root=self.top, lower="snapshot", upper=name, work=f"{name}.work")
        return Workspace(path=path, layer=layer, writable=writable)

    async def run(self, workspace: Workspace, script: str) -> str:
        command = SandboxCommand(argv=("bash", "-c", script), workspace=workspace)
        return (await self.sandbox.run(command)).output.decode()


@pytest.fixture
async def stage(tmp_path: Path) -> Stage:
    made = Stage(tmp_path)
    if (layering := await made.sandbox.layering(tmp_path)).kind != "mounted":
        pytest.skip(layering.reason)
    return made


async def test_a_workspace_shows_the_snapshot_and_its_own_files(stage: Stage):
    workspace = stage.workspace("one")
    (workspace.path / "tracked").write_text("mine\n")
    assert await stage.run(workspace, "cat tracked lib/module") == "mine\ninstalled\n"


async def test_what_one_writes_no_other_sees_nor_the_snapshot(stage: Stage):
    one, two = stage.workspace("one"), stage.workspace("two")
    await stage.run(one, "echo changed >lib/module; rm -r lib/old; echo new >lib/added")
    assert await stage.run(two, "cat lib/module; ls lib") == "installed\nmodule\nold\n"
    assert (stage.lower / "lib" / "module").read_text() == "installed\n"


async def test_what_was_written_is_there_for_the_next_command(stage: Stage):
    one = stage.workspace("one")
    await stage.run(one, "echo changed >lib/module; rm -r lib/old; mkdir lib/old")
    assert await stage.run(one, "cat lib/module; ls -A lib/old") == "changed\n"


async def test_a_workspace_that_is_only_read_shows_the_snapshot(stage: Stage):
    one = stage.workspace("one", writable=False)
    said = await stage.run(one, "cat lib/module; echo x >lib/module")
    assert said.startswith("installed\n")
    assert "Read-only file system" in said


async def test_a_snapshot_that_is_gone_is_told(stage: Stage):
    workspace = stage.workspace("one")
    stage.lower.rename(stage.top / "elsewhere")
    with pytest.raises(SandboxUnavailableError, match="snapshot 'snapshot' is gone"):
        await stage.run(workspace, "true")


async def test_where_no_layer_can_be_mounted_the_reason_is_told(tmp_path: Path):
    stand_in = tmp_path / "bwrap"
    stand_in.write_text("#!/bin/sh\necho 'no such luck' >&2; exit 1\n")
    stand_in.chmod(0o755)
    layering = await BubblewrapSandbox(program=str(stand_in)).layering(tmp_path)
    assert layering.kind == "copied"
    assert "no such luck" in layering.reason
