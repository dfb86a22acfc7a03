"""A host's process: gives up root as a worker does, and runs one command with a toolchain."""

import asyncio
import json
import os
import sys
from pathlib import Path

from activities.ports.sandbox_port import SandboxCommand, SandboxUnavailableError, Workspace
from workers.hosting.host_user import become_host_user
from workers.hosting.host_wiring import make_host
from workers.settings import Settings
from workflows.domain.environment import ProjectEnvironment

MODULE = "tests.unit.workers.hosting.toolchain_probe"


async def _ran(settings: Settings, names: tuple[str, ...], script: str) -> str:
    tree = settings.host_dir / "tree"
    tree.mkdir(exist_ok=True)
    host = make_host(settings)
    workspace = Workspace(path=tree, environment=ProjectEnvironment(toolchains=names))
    command = SandboxCommand(argv=("bash", "-c", script), workspace=workspace)
    try:
        return (await host.sandbox.run(command)).output.decode()
    except SandboxUnavailableError as error:
        return f"refused: {error}"


if __name__ == "__main__":
    read = Settings.read()
    become_host_user(read, MODULE, sys.argv[1:])
    Path(read.host_dir).mkdir(parents=True, exist_ok=True)
    said = asyncio.run(_ran(read, tuple(json.loads(sys.argv[1])), sys.argv[2]))
    sys.stdout.write(json.dumps([os.getuid(), said]))
