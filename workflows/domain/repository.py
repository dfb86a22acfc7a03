"""The person's repository as a session sees it: the base and its context."""

from typing import Literal

from pydantic import BaseModel

from workflows.domain.ids import Commit, Digest, Tree


class CopiedFile(BaseModel, frozen=True, extra="forbid"):
    """An ignored file of the person's checkout that builds need, or a folder or pattern of them."""

    path: str
    """As `worktree.copy` names it."""
    content: Digest
    executable: bool
    kind: Literal["file", "archive"] = "file"
    """`archive`: the content holds all files of a folder or pattern."""


class Base(BaseModel, frozen=True, extra="forbid"):
    """The base, as it was found; its history is sent to the host that lacks it."""

    repository: str
    """The resolved path of the repository."""
    key: str
    """Its name on hosts."""
    names: Digest | None = None
    """Its tags and remote-tracking names, as a bundle; None where there are none."""
    excludes: Digest | None = None
    """What the person's git ignores there beside `.gitignore` files; None: nothing."""
    rules: Digest | None = None
    """How the person's git converts files beside `.gitattributes` files; None: no other way."""
    shallow: tuple[Commit, ...] = ()
    """Where a shallow clone's history ends."""
    commit: Commit
    tree: Tree
    branch: str | None
    """The branch checked out at the base; None if detached or if another base was named."""
    files: int
    tree_bytes: int
    copied: tuple[CopiedFile, ...] = ()
    warnings: tuple[str, ...] = ()
    unfilled: tuple[str, ...] = ()
    """Files that a worktree does not hold as expected: submodules, files under LFS."""
