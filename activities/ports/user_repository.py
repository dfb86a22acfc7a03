"""The activities' port to the user's repository, with the user's rights (role `land`).

It exchanges only bundles and packs with the session's repository on the host (`host_repository`).
It runs nothing that the repository names: no hook, no filter, no driver. The one exception is the
user's own filters at a fast-forward that the user asked for.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from pydantic import BaseModel, Field, SecretStr

from activities.ports.history_values import HistoryPart, HistoryWish
from workflows.domain.ids import Commit, SessionId, Tree
from workflows.domain.session.session_config import CommitsConfig


@dataclass(frozen=True)
class HandOver:
    """How root gives packs to the host's repository, which belongs to another user."""

    top: Path
    """A folder of root's; only the host's repositories below it belong to the other user."""
    staging: Path
    """Where packs are made: a folder of root's on the same disk, made if it is missing."""
    uid: int
    gid: int


class RepositoryFacts(BaseModel, frozen=True, extra="forbid"):
    """What the preflight found. Reading it changed nothing."""

    root: Path
    """The resolved top of the checkout, or the repository itself if it is bare."""
    key: str
    """Identifies the repository, whichever path led to it; 32 hexadecimal digits."""
    is_bare: bool
    base: Commit
    base_branch: str | None
    """The branch of the base, without `refs/heads/`; None: detached, a tag, a hash."""
    tree: Tree
    file_count: int
    tree_bytes: int
    """Total size of the files in the base's tree."""
    owner: str
    is_writable: bool
    """Whether landing can write objects and refs; if not, warn with `owner` before the start."""
    is_dirty: bool
    """Tracked files differ from the index, or the index from HEAD; the base has no such change."""
    under_way: str | None = None
    """An operation in progress (`merge`, `rebase` …); None: none."""
    submodules: tuple[str, ...] = ()
    """Paths of gitlinks in the base. They stay empty in worktrees."""
    lfs_patterns: tuple[str, ...] = ()
    """Patterns of files that are LFS pointers in worktrees."""
    filtered: tuple[tuple[str, str], ...] = ()
    """Patterns of files of other filters, each with its filter; no one can write them."""


class IgnoredFile(BaseModel, frozen=True, extra="forbid"):
    """A file of the checkout that git ignores."""

    path: str
    """Relative to the root, with `/`; with a `fault`, for a person only."""
    link: str | None = None
    """Where it leads, if it is a link that stays inside the checkout."""
    fault: str | None = None
    """Why it must not be copied; None: nothing that its kind and name would tell."""


class BaseNames(BaseModel, frozen=True, extra="forbid"):
    """What belongs to a base beside its history."""

    names: bytes = b""
    """A bundle of its tags and remote-tracking names; empty if there are none."""
    shallow: tuple[Commit, ...] = ()
    """The boundary of a shallow clone: these commits' parents are not there."""


class AttributeRules(
    BaseModel, frozen=True, extra="forbid", ser_json_bytes="base64", val_json_bytes="base64"
):
    """How the person's git converts files beside what `.gitattributes` files say."""

    outranking: bytes = b""
    """Attributes of the repository itself (`info/attributes`)."""
    outranked: bytes = b""
    """The person's attributes for all repositories (`core.attributesFile`)."""
    is_autocrlf: bool = False
    """Whether text is stored with LF without any attribute (`core.autocrlf`)."""


class LandRequest(BaseModel, frozen=True, extra="forbid"):
    """Commits to bring into the user's repository, and the ref that will name the last one."""

    path: Path
    bundle: bytes
    ref: str = Field(pattern=r"^refs/heads/.+")
    old: Commit | None
    """The commit that the ref holds now; None: it must not exist."""
    new: Commit
    base: bytes = b""
    """A bundle of what `bundle` builds on, should the repository have lost it; empty: none."""
    commits: CommitsConfig = CommitsConfig(sign="never")
    """What the branch's commits are to look like, where that is not how they are."""
    since: Commit | None = None
    """What the session's commits build on; without it they are not rewritten."""
    source: Commit | None = None
    """The commit of the session that `old` stands for; None: `old` itself."""
    heads: tuple[Commit, ...] = ()
    """Commits of the session whose places on the branch are wanted, beside `new`."""


class FastForwardRequest(BaseModel, frozen=True, extra="forbid"):
    """A branch of the user's to move forward if that is safe. `new` has already landed."""

    path: Path
    branch: str
    """Without `refs/heads/`."""
    old: Commit
    new: Commit
    moves_checkout: bool = True
    """Whether a checkout that shows the branch may move with it; False: then nothing moves."""


class PushRequest(BaseModel, frozen=True, extra="forbid"):
    """A commit of the user's repository to push to a branch elsewhere."""

    path: Path
    url: str
    """Where to: https, http on this machine, or a file URL."""
    branch: str
    """Without `refs/heads/`."""
    commit: Commit
    before: Commit | None
    """What Blue Flame pushed there last; None: nothing that is known."""
    token: SecretStr = SecretStr("")
    """Sent with a web address; empty: none."""
    proxies: dict[str, str] = Field(default_factory=dict[str, str], repr=False)
    """Variables that say how the web is reached."""


class Pushed(BaseModel, frozen=True, extra="forbid"):
    """The branch holds the commit now, or already did."""

    kind: Literal["pushed"] = "pushed"


class PushRefused(BaseModel, frozen=True, extra="forbid"):
    """Nothing was pushed, and nothing would be next time."""

    kind: Literal["refused"] = "refused"
    text: str
    """For a person: the obstacle and what to do."""


PushOutcome = Pushed | PushRefused


class Landed(BaseModel, frozen=True, extra="forbid"):
    """The ref holds the commit now, or already did."""

    kind: Literal["landed"] = "landed"
    ref: str
    commit: Commit
    checkout: Path | None = None
    """The checkout that moved along; None: no checkout was changed."""
    commits: dict[Commit, Commit] = Field(default_factory=dict[Commit, Commit])
    """Where commits were rewritten: those of `new` and `heads` on the branch."""
    notice: str = ""
    """What is not as the person wants it; empty: nothing."""


class Refused(BaseModel, frozen=True, extra="forbid"):
    """Nothing was changed, except with `failed`; the work waits."""

    kind: Literal["refused"] = "refused"
    reason: Literal[
        "moved", "blocked", "checked_out", "not_forward", "overlap", "busy", "rights", "failed",
        "unsigned",
    ]  # fmt: skip
    text: str
    """For a person: the obstacle and what to do. With `failed`, git stopped while it moved a
    checkout, and this says what it left there."""


LandOutcome = Landed | Refused


class UserRepository(Protocol):
    """The user's repository, with the user's rights."""

    async def inspect(
        self, path: Path, base: str | None, session: SessionId | None = None
    ) -> RepositoryFacts:
        """Inspect the repository that `path` is in, and change nothing.

        Args:
            path: a folder in a checkout, or a bare repository.
            base: branch, tag or commit to work from; None: HEAD.
            session: the session whose branch name must be free; None: any session's.

        Raises:
            RepositoryRefusedError: one of its kinds, in words for a person.
        """
        ...

    async def ignored_files(self, root: Path, entry: str) -> tuple[IgnoredFile, ...]:
        """List the ignored files that one entry of `worktree.copy` names, sorted.

        Args:
            root: the top of the checkout.
            entry: a file, a folder, or a pattern in which `*` stays within a folder and `**` does
                not; relative, with `/`.
        """
        ...

    async def excludes(self, root: Path) -> bytes:
        """Return what git ignores here beside `.gitignore` files, as the text of one such file.

        Raises:
            RepositoryRefusedError: it is too long.
        """
        ...

    async def attribute_rules(self, root: Path) -> AttributeRules:
        """Return how git converts files here beside what `.gitattributes` files say.

        Raises:
            RepositoryRefusedError: there are too many attributes.
        """
        ...

    async def names(self, path: Path, commit: Commit) -> BaseNames:
        """Return the names of `commit` and its history, and where it ends."""
        ...

    async def part(self, path: Path, wish: HistoryWish) -> HistoryPart:
        """Decide which part of a base's history to send; nothing is written.

        Raises:
            PartialCloneError: commits are missing.
        """
        ...

    async def send(self, path: Path, part: HistoryPart, sink: int) -> None:
        """Write a bundle of only one commit and its history to a descriptor.

        Args:
            path: the repository.
            part: the base, and how much of its history.
            sink: an empty file.

        Raises:
            PartialCloneError: objects are missing.
        """
        ...

    async def bring(
        self, path: Path, part: HistoryPart, bare: Path, handing: HandOver | None = None
    ) -> None:
        """Store the objects of a commit and its history in a repository of this machine.

        Args:
            path: the repository to read from.
            part: the base, and how much of its history.
            bare: the host's repository; no ref of it moves.
            handing: how it gets what belongs to another user; None: it is this process's own.

        Raises:
            PartialCloneError: objects are missing.
            OSError: with `handing`: a link or another file is where a folder of `bare` was.
        """
        ...

    async def land(self, request: LandRequest) -> LandOutcome:
        """Store the bundle's commits and move one ref by compare-and-swap. Repeating it is safe.

        Raises:
            PrerequisiteMissingError: a commit that the bundle builds on is missing here.
            BundleError: the bundle is damaged.
        """
        ...

    async def fast_forward(self, request: FastForwardRequest) -> LandOutcome:
        """Move the user's branch, and the checkout that shows it, only if nothing can be lost.

        Hooks do not run. The checkout's own filters (LFS) run, as with a pull.
        """
        ...

    async def remote_url(self, path: Path, remote: str) -> str | None:
        """Return the URL of a remote; None: there is no such remote."""
        ...

    async def push(self, request: PushRequest) -> PushOutcome:
        """Push one commit to a branch elsewhere. Repeating it is safe; no hook runs.

        Raises:
            PushFailedError: the other side could not be reached; worth another try.
        """
        ...
