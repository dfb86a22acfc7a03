"""Runs programs without a sandbox on one of Blue Flame's own folders: git and a test suite.

For sources that the person trusts as much as Blue Flame itself, such as the demo's sample. Runs
no part of a session.
"""

from pathlib import Path

from activities.adapters.git.git_command import Git, Scope
from activities.adapters.sandbox.unconfined import UnconfinedSandbox
from activities.ports.sandbox_port import SandboxCommand, SandboxResult, Workspace
from workers.hosting.host_wiring import git_program


async def run_git(folder: Path, *arguments: str) -> str:
    """Run git in a folder and return the first line of its output; only local paths are reached.

    Raises:
        GitCommandError: git failed.
        GitMissingError: git is not installed.
    """
    scope = Scope(cwd=folder, settings=()).having(GIT_ALLOW_PROTOCOL="file")
    return (await Git(git_program()).run(scope, *arguments)).line()


async def run_unconfined(folder: Path, *argv: str) -> SandboxResult:
    """Run a command in a folder with the rights of this process."""
    return await UnconfinedSandbox().run(
        SandboxCommand(argv=argv, workspace=Workspace(path=folder))
    )
