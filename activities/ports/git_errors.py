"""What can go wrong with git, as errors for the callers of the repositories' ports."""

from pathlib import Path

from workflows.domain.ids import Commit


class GitError(Exception):
    """The root of the tree.

    GitError
    ├── RepositoryRefusedError       the preflight says no, in words for a person; no retry helps
    │   ├── NotARepositoryError      nothing there, or a broken `.git`
    │   ├── EmptyRepositoryError     no commit yet
    │   ├── BaseMissingError         the named base does not exist
    │   ├── BranchNameBlockedError   a branch of theirs stands where ours has to be
    │   ├── PartialCloneError        objects of the base's history are not here
    │   ├── RepositoryUnreadableError    we may not read it
    │   ├── RepositoryDamagedError   git cannot read it, or not everything of the base
    │   └── UnusableNameError        a name in it, or its own, that cannot be carried along
    ├── GitCommandError              git itself failed
    ├── GitTimedOutError             git did not come to an end
    ├── OutputTooLargeError          git said more than we are willing to hold
    ├── RefMovedError                a compare-and-swap lost
    ├── BundleError                  not a bundle, damaged, or what it builds on is missing
    ├── WorktreeMissingError         no whole worktree of this name
    ├── WorktreeDamagedError         what stands there is not what we made
    └── WorktreeNotHeldError         used without its lock
    """


class RepositoryRefusedError(GitError):
    """This repository cannot be worked on; the message says why and what to do."""


class NotARepositoryError(RepositoryRefusedError):
    """The path holds no git repository."""


class EmptyRepositoryError(RepositoryRefusedError):
    """The repository has no commit."""


class BaseMissingError(RepositoryRefusedError):
    """The named base is not a commit of the repository."""


class BranchNameBlockedError(RepositoryRefusedError):
    """A branch is in the way of `blueflame/<session>`."""


class PartialCloneError(RepositoryRefusedError):
    """A clone with a filter lacks objects, and we fetch nothing."""


class RepositoryUnreadableError(RepositoryRefusedError):
    """The repository is there and cannot be read by us."""


class RepositoryDamagedError(RepositoryRefusedError):
    """git cannot read the repository: damaged, of an unknown format, badly configured."""


class UnusableNameError(RepositoryRefusedError):
    """A name that no worktree could have, or a path that is not a text."""


class GitCommandError(GitError):
    """git ended with an exit code that the caller did not expect."""

    def __init__(self, arguments: tuple[str, ...], code: int, stderr: str) -> None:
        super().__init__(f"git {' '.join(arguments)!r} ended with {code}: {stderr.strip()[:2000]}")
        self.code = code
        self.stderr = stderr


class GitTimedOutError(GitError):
    """A git command ran longer than anything of its kind may."""

    def __init__(self, arguments: tuple[str, ...], where: Path, limit_seconds: float) -> None:
        super().__init__(
            f"git {' '.join(arguments)[:500]!r} in {str(where)!r} was ended after "
            f"{limit_seconds:g} s; look there for a pipe, or a disk that does not answer"
        )


class OutputTooLargeError(GitError):
    """The output of a git command passed its bound."""


class RefMovedError(GitError):
    """A ref does not hold what the caller expected."""

    def __init__(self, ref: str, expected: Commit | None, found: Commit | None) -> None:
        super().__init__(
            f"ref {ref!r} holds {found or 'nothing'}, expected {expected or 'nothing'}; "
            "read it again and decide again"
        )
        self.ref = ref
        self.expected = expected
        self.found = found


class BundleError(GitError):
    """A bundle cannot be used."""


class WorktreeMissingError(GitError):
    """There is no finished worktree of this name; create it first."""


class WorktreeDamagedError(GitError):
    """The worktree's `.git` or its contents are not what we made; create it again."""


class WorktreeNotHeldError(GitError):
    """The caller does not hold the worktree's lock; enter `lock(name)` first."""
