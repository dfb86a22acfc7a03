"""The demo's stage: a fresh copy of the sample as a git repository, and its own test suite.

The sample and its playbook are in `examples/demo` of a checkout. Git runs here as a person would
run it, on a repository that the demo made; the session itself never uses this module.
"""

import asyncio
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from starter.console.command_errors import CommandError

SUITE: Final = ("python", "-B", "-m", "unittest", "discover")
_COUNTED: Final = re.compile(rb"^Ran (\d+) tests? in ", re.MULTILINE)
_FAILED: Final = re.compile(rb"^(?:FAIL|ERROR): ", re.MULTILINE)
_AUTHOR: Final = ("-c", "user.name=Demo", "-c", "user.email=demo@example.invalid")


@dataclass(frozen=True)
class Stage:
    """The demo's own folder."""

    folder: Path
    repository: Path
    playbook: Path
    goal: str

    @property
    def data_dir(self) -> Path:
        """The data directory of the demo's server and workers."""
        return self.folder / "data"


@dataclass(frozen=True)
class SuiteRun:
    """How the sample's own tests ended."""

    exit_code: int
    tests: int
    failed: int

    @property
    def is_green(self) -> bool:
        """Whether tests ran, and all passed."""
        return self.exit_code == 0 and self.tests > 0


async def set_up(parent: Path | None = None) -> Stage:
    """Copy the sample to a new folder and make a repository of it.

    Args:
        parent: where to make that folder; None: the system's folder for temporary files.

    Raises:
        CommandError: the sample is missing, or git does not work.
    """
    material = _material()
    made = await asyncio.to_thread(tempfile.mkdtemp, prefix="blueflame-demo-", dir=parent)
    folder = Path(made).resolve()  # noqa: ASYNC240 (once, at the start)
    stage = Stage(
        folder=folder,
        repository=folder / "orderdesk",
        playbook=material / "playbook.yaml",
        goal=" ".join((material / "goal.txt").read_text("utf-8").split()),
    )
    left_out = shutil.ignore_patterns("__pycache__")
    await asyncio.to_thread(
        shutil.copytree, material / "repository", stage.repository, ignore=left_out
    )
    await git(stage.repository, "init", "--quiet", "--initial-branch=main")
    await git(stage.repository, "add", "--all")
    await git(stage.repository, "commit", "--quiet", "--message", "Order desk 0.1")
    return stage


def _material() -> Path:
    from workers.hosting.data_layout import packages_root

    material = packages_root() / "examples" / "demo"
    if not material.is_dir():
        raise CommandError(
            f"the demo's sample is not in {str(material)!r}: it comes with the sources of this "
            "program and not with its package; run `make demo` in a clone"
        )
    return material


async def run_suite(stage: Stage, revision: str) -> SuiteRun:
    """Run the sample's own tests on a clean clone of a branch or commit.

    Runs without a sandbox, as a person would who trusts the approved work: the sample and the
    scripted changes come with Blue Flame.
    """
    from workers.local.trusted_programs import run_unconfined

    clone = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="clone-", dir=stage.folder))
    await git(clone, "clone", "--quiet", "--no-hardlinks", str(stage.repository), ".")
    await git(clone, "checkout", "--quiet", "--detach", f"origin/{revision}")
    ran = await run_unconfined(clone, *SUITE)
    await asyncio.to_thread(shutil.rmtree, clone)
    counted = _COUNTED.search(ran.output)
    return SuiteRun(
        exit_code=ran.code,
        tests=int(counted[1]) if counted else 0,
        failed=len(_FAILED.findall(ran.output)),
    )


async def git(folder: Path, *arguments: str) -> str:
    """Run git on one of the demo's repositories and return its output.

    Raises:
        CommandError: git failed.
    """
    from activities.ports.git_errors import GitCommandError
    from workers.hosting.host_wiring import GitMissingError
    from workers.local.trusted_programs import run_git

    try:
        return await run_git(folder, *_AUTHOR, *arguments)
    except (GitCommandError, GitMissingError) as error:
        raise CommandError(f"the sample's repository cannot be used: {error}") from error
