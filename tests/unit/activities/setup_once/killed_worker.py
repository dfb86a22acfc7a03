"""A worker process whose set-up never ends: run as a program, to be killed.

Arguments: the folder of a `Situation` whose base is on its host, and the base.
"""

import asyncio
import sys
from pathlib import Path

from activities.adapters.sandbox.bubblewrap import BubblewrapSandbox
from activities.ports.sandbox_port import SandboxCommand, SandboxResult
from tests.unit.activities.situations import Agent, SetUp, Situation
from workflows.domain.ids import Commit


class EndlessSandbox(BubblewrapSandbox):
    """Whatever is set up writes half of it and then waits for ever."""

    async def run(self, command: SandboxCommand, hold: int | None = None) -> SandboxResult:
        if ".setup." in str(command.workspace.path):
            script = "mkdir lib && echo half >lib/installed && sleep 600"
            command = command.model_copy(update={"argv": ("sh", "-c", script)})
        return await super().run(command, hold)


async def main(top: Path, base: Commit, *command: str) -> None:
    """Set up a worktree."""
    host = Situation(top, EndlessSandbox()).host
    await Agent(host, base, "killed", ("**",)).prepare(set_up=SetUp(commands=(command,)))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), Commit(sys.argv[2]), *sys.argv[3:]))
