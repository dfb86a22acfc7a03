"""Inspects the person's repository before anything starts: is it usable, which base, which gates.

The session inspects it in the same way, with the rights of the worker that lands; this is the early
answer, before a server is started. It changes nothing, and runs nothing that a repository names.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from starter.console.command_errors import CommandError
from starter.machine.system_programs import git_version

if TYPE_CHECKING:
    from activities.projects.proposal import Proposal
    from workflows.domain.gate import GateSpec
    from workflows.domain.ids import Commit
    from workflows.domain.session.session_config import WorktreeConfig


@dataclass(frozen=True)
class Repository:
    """The preflight's findings."""

    root: Path
    """The checkout's top, or the repository itself if it is bare."""
    commit: "Commit"
    base: str
    """In words: the branch, tag or commit that work starts from."""
    is_bare: bool = False
    """There is no checkout: `root` is the repository itself."""
    warnings: tuple[str, ...] = ()
    """What may surprise a person, one sentence each."""


async def examine(path: Path, base: str | None) -> Repository:
    """Find the repository at `path` and its base.

    Args:
        path: the repository or a folder in it.
        base: a branch, tag or commit; None: the checked-out commit.

    Raises:
        CommandError: sessions cannot work on it, or git is missing or too old.
    """
    await git_version()
    # The other modules load slowly; a wrong argument has been answered by now.
    from activities.ports.git_errors import RepositoryRefusedError
    from activities.repository.repository_warnings import warnings_of
    from workers.local import person_repository

    try:
        facts = await person_repository.inspect(path, base)
    except RepositoryRefusedError as error:
        raise CommandError(str(error)) from error
    named = base or facts.base_branch or f"{facts.base[:12]} (detached)"
    return Repository(facts.root, facts.base, named, facts.is_bare, warnings_of(facts))


async def check_copies(root: Path, worktree: "WorktreeConfig") -> None:
    """Refuse what `worktree.copy` names and no worktree would get.

    Raises:
        CommandError: an entry is refused; the message says why and what to do.
    """
    if not worktree.copies:
        return
    from activities.ports.git_errors import RepositoryRefusedError
    from workers.local import person_repository

    try:
        await person_repository.check_copies(root, worktree)
    except RepositoryRefusedError as error:
        raise CommandError(str(error)) from error


async def find_root(path: Path) -> Path | None:
    """Return the root of the repository that `path` is in; None if there is none.

    Raises:
        CommandError: `path` is not a folder, the repository cannot be read, or git is missing.
    """
    if not path.is_dir():  # noqa: ASYNC240 (one stat before anything runs)
        raise CommandError(f"repository {str(path)!r} is not a folder; name one with --repo")
    await git_version()
    from activities.ports.git_errors import NotARepositoryError, RepositoryRefusedError
    from workers.local import person_repository

    try:
        return await person_repository.root_of(path)
    except NotARepositoryError:
        return None
    except RepositoryRefusedError as error:
        raise CommandError(str(error)) from error


async def gates(repository: Repository) -> list[str]:
    """Return the gates detected in the base, with their commands."""
    return [gate_line(gate) for gate in await detected_gates(repository)]


def gate_line(gate: "GateSpec") -> str:
    """Return a gate with its command."""
    from activities.projects.proposal import as_typed

    return f"{gate.name} ({as_typed(gate.argv)})"


async def detected_gates(repository: Repository) -> "tuple[GateSpec, ...]":
    """Return the gates detected in the base."""
    # Imported late: only a dry run and `init` need it.
    from activities.gates.detection import detect_gates, files_to_read

    return detect_gates(await _files(repository, files_to_read))


async def proposal(repository: Repository) -> "Proposal":
    """Return the toolchains, set-up and gates that the base shows."""
    from activities.projects.project_look import project_files_to_read, propose

    return propose(await _files(repository, project_files_to_read))


async def _files(
    repository: Repository, wanted: Callable[[Iterable[str]], Iterable[str]]
) -> dict[str, bytes]:
    """Return every path of the base, with the content of the wanted ones."""
    from workers.local import person_repository

    return await person_repository.files_of(repository.root, repository.commit, wanted)
