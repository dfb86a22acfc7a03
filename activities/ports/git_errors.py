"""What can go wrong with git, as errors for callers of the repository ports."""

from pathlib import Path

from workflows.domain.ids import Commit


class GitError(Exception):
    """The root of the tree.

    GitError
    ├── RepositoryRefusedError       the preflight refuses, in words for a person; do not retry
    │   ├── NotARepositoryError      nothing there, or a broken `.git`
    │   ├── EmptyRepositoryError     no commit yet
    │   ├── BaseMissingError         the named base does not exist
    │   ├── BranchNameBlockedError   a branch of the user's blocks the name of the session's branch
    │   ├── PartialCloneError        objects of the base's history are missing here
    │   ├── RepositoryUnreadableError    this process may not read it
    │   ├── RepositoryDamagedError   git cannot read it, or not everything of the base
    │   └── UnusableNameError        its own name, or a name in it, cannot be transferred
    ├── GitCommandError              git itself failed
    ├── GitTimedOutError             git did not finish in time
    ├── OutputTooLargeError          git's output exceeded its bound
    ├── RefMovedError                a compare-and-swap lost
    ├── BundleError                  not a bundle, damaged, or incomplete
    │   └── PrerequisiteMissingError     a commit that it builds on is not there
    ├── WorktreeMissingError         no finished worktree of this name
    ├── WorktreeDamagedError         the worktree is not as Blue Flame made it
    ├── StateDamagedError            a lock or another file of Blue Flame's own cannot be used
    └── WorktreeNotHeldError         used without its lock
    """


class RepositoryRefusedError(GitError):
    """Sessions cannot work on this repository; the message says why and what to do."""


class NotARepositoryError(RepositoryRefusedError):
    """The path holds no git repository."""


class EmptyRepositoryError(RepositoryRefusedError):
    """The repository has no commit."""


class BaseMissingError(RepositoryRefusedError):
    """The named base is not a commit of the repository."""


class BranchNameBlockedError(RepositoryRefusedError):
    """A branch blocks the name `blueflame/<session>`."""


class PartialCloneError(RepositoryRefusedError):
    """A clone with a filter lacks objects, and Blue Flame fetches nothing."""


class RepositoryUnreadableError(RepositoryRefusedError):
    """The repository exists, but this process may not read it."""


class RepositoryDamagedError(RepositoryRefusedError):
    """Git cannot read the repository: damaged, of an unknown format, badly configured."""


class UnusableNameError(RepositoryRefusedError):
    """A name that no worktree could have, or a path that is not text."""


class GitCommandError(GitError):
    """Git exited with a code that the caller did not expect."""

    def __init__(self, arguments: tuple[str, ...], code: int, stderr: str) -> None:
        super().__init__(f"git {' '.join(arguments)!r} ended with {code}: {stderr.strip()[:2000]}")
        self.arguments = arguments
        self.code = code
        self.stderr = stderr


class PushFailedError(GitError):
    """A push to a remote did not succeed, and may at another try."""


class GitTimedOutError(GitError):
    """A git command exceeded its time limit."""

    def __init__(self, arguments: tuple[str, ...], where: Path, limit_seconds: float) -> None:
        super().__init__(
            f"git {' '.join(arguments)[:500]!r} in {str(where)!r} was ended after "
            f"{limit_seconds:g} s; look there for a pipe, or a disk that does not answer"
        )


class OutputTooLargeError(GitError):
    """The output of a git command exceeded its bound."""


class RefMovedError(GitError):
    """A ref does not hold the expected commit."""

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


class PrerequisiteMissingError(BundleError):
    """A bundle builds on a commit that is not there; send that first."""


class WorktreeMissingError(GitError):
    """There is no finished worktree of this name; create it first."""


class WorktreeDamagedError(GitError):
    """The worktree's `.git` or content is not as Blue Flame made it; create it again."""


class StateDamagedError(GitError):
    """A file of Blue Flame's own cannot be used; the message says which and what to do."""


class WorktreeNotHeldError(GitError):
    """The caller does not hold the worktree's lock; enter `lock(name)` first."""
