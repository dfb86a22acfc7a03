"""A look at the person's repository before anything starts: is it usable, which base, which gates.

The session looks at it in the same way, with the rights of whoever lands; this is the early answer,
before a server is started. Nothing is changed, and nothing that a repository names is run.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from starter.console.command_errors import CommandError
from starter.machine.system_programs import git_version

if TYPE_CHECKING:
    from activities.adapters.git.git_command import Git
    from activities.projects.proposal import Proposal
    from workflows.domain.gate import GateSpec


@dataclass(frozen=True)
class Repository:
    """What the preflight found."""

    root: Path
    """The checkout's top, or the repository itself where it is bare."""
    commit: str
    base: str
    """In words: the branch, tag or commit that work starts from."""
    is_bare: bool = False
    """There is no checkout: `root` is the repository itself."""
    warnings: tuple[str, ...] = ()
    """What a person may not expect, one sentence each."""


async def examine(path: Path, base: str | None) -> Repository:
    """Find the repository at `path` and its base.

    Args:
        path: the repository or a folder in it.
        base: a branch, tag or commit; None: what is checked out.

    Raises:
        CommandError: it cannot be worked on, or git is missing or too old.
    """
    await git_version()
    # The other modules are slow to load; a wrong argument has answered by now.
    from activities.adapters.git.user.branch_landing import GitUserRepository
    from activities.adapters.git.user.fast_forward import Person
    from activities.adapters.git.user.user_git import find
    from activities.ports.git_errors import RepositoryRefusedError
    from activities.repository.repository_warnings import warnings_of

    try:
        facts = await GitUserRepository(git(), Person()).inspect(path, base)
        found = await find(facts.root)
    except RepositoryRefusedError as error:
        raise CommandError(str(error)) from error
    named = base or facts.base_branch or f"{facts.base[:12]} (detached)"
    return Repository(facts.root, facts.base, named, found.is_bare, warnings_of(facts))


async def find_root(path: Path) -> Path | None:
    """Return the root of the repository that `path` is in; None where it is in none.

    Raises:
        CommandError: `path` is not a folder, the repository cannot be read, or git is missing.
    """
    if not path.is_dir():  # noqa: ASYNC240 (one stat before anything runs)
        raise CommandError(f"repository {str(path)!r} is not a folder; name one with --repo")
    await git_version()
    from activities.adapters.git.user.user_git import find
    from activities.ports.git_errors import NotARepositoryError, RepositoryRefusedError

    try:
        return (await find(path)).root
    except NotARepositoryError:
        return None
    except RepositoryRefusedError as error:
        raise CommandError(str(error)) from error


async def gates(repository: Repository) -> list[str]:
    """Return the names of the gates that the base shows, with their commands."""
    return [gate_line(gate) for gate in await detected_gates(repository)]


def gate_line(gate: "GateSpec") -> str:
    """Return a gate with its command."""
    return f"{gate.name} ({' '.join(gate.argv)})"


async def detected_gates(repository: Repository) -> "tuple[GateSpec, ...]":
    """Return the gates that the base shows."""
    # Later than the rest: only a dry run and `init` ask.
    from activities.gates.detection import detect_gates, files_to_read

    return detect_gates(await _files(repository, files_to_read))


async def proposal(repository: Repository) -> "Proposal":
    """Return what the base shows of toolchains, set-up and gates."""
    from activities.projects.project_look import project_files_to_read, propose

    return propose(await _files(repository, project_files_to_read))


async def _files(
    repository: Repository, wanted: Callable[[Iterable[str]], Iterable[str]]
) -> dict[str, bytes]:
    """Return every path of the base, with the content of those that are wanted."""
    from activities.adapters.git.user.user_git import find

    runner, scope = git(), (await find(repository.root)).scope()
    listing = ("ls-tree", "-r", "--name-only", "-z", "--full-tree", repository.commit)
    records = (await runner.run(scope, *listing)).records()
    paths = [path.decode() for path in records if path.decode("utf-8", "ignore").encode() == path]
    files = dict.fromkeys(paths, b"")
    for path in wanted(paths):
        blob = ("cat-file", "blob", f"{repository.commit}:{path}")
        files[path] = (await runner.run(scope, *blob, accept=(0, 128))).stdout
    return files


def git() -> "Git":
    """Return git as the workers run it."""
    from activities.adapters.git.git_command import Git
    from workers.hosting.host_wiring import git_program

    return Git(git_program())
