"""Gives the branch's commits other names and trailers than the session's, and a signature.

The session's commits stay as they are: approvals, merges and gates name them by their ids, and the
key must not come near the host. So a rewrite is only made here, at delivery, by role `land`. It has
the same trees, the same shape and the same dates, so each commit of the branch has one twin among
the session's, which is found again by walking both histories side by side. Nothing has to be kept
for it, and an attempt that repeats another one, whose answer was lost, finds what that one made.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, NamedTuple

from activities.adapters.git.git_command import Git, Scope
from activities.adapters.git.loose_objects import IDENTITY, read_trailers, with_trailers
from activities.ports.git_errors import GitCommandError, GitTimedOutError
from activities.ports.user_repository import Landed, LandRequest, Refused
from workflows.domain.ids import Commit, Tree
from workflows.domain.session.session_config import CommitsConfig, Trailer

_SIGNING_SECONDS: Final = 60.0
"""A key that asks for its passphrase would wait for ever."""
_NAMES: Final[Mapping[str, Trailer]] = {
    "Blueflame-Session": "session",
    "Blueflame-Task": "task",
    "Blueflame-Attempt": "attempt",
    "Blueflame-Turn": "attempt",
}
_SETTINGS: Final = ("i18n.commitEncoding=UTF-8",)
_FIELDS: Final = 4
_TEXT: Final = 300
_ADVICE: Final = "make the key usable without a question, or set `commits.sign` to `never`"

Commits = dict[Commit, Commit]
"""From a commit of the session to the one of the branch."""


class UnknownPersonError(Exception):
    """The person's git does not say who they are."""


class UnsignedError(Exception):
    """The person's key could not be used; the message says why."""


class Range(NamedTuple):
    """The session's commits on a branch."""

    base: Commit
    """What they build on; it is not among them."""
    tip: Commit


class _Style(NamedTuple):
    """What all twins have in common."""

    author: tuple[str, str]
    """Name and address."""
    committer: tuple[str, str]
    trailers: tuple[Trailer, ...]
    is_signed: bool

    def variables(self, at: str) -> dict[str, str]:
        """Return the variables that tell git who made a commit, and when."""
        return {
            "GIT_AUTHOR_NAME": self.author[0],
            "GIT_AUTHOR_EMAIL": self.author[1],
            "GIT_AUTHOR_DATE": f"@{at}",
            "GIT_COMMITTER_NAME": self.committer[0],
            "GIT_COMMITTER_EMAIL": self.committer[1],
            "GIT_COMMITTER_DATE": f"@{at}",
        }

    def message(self, message: str) -> str:
        """Return a message with the trailers that are wanted."""
        trailers = read_trailers(message)
        body = message.strip().rpartition("\n\n")[0] if trailers else message
        kept = [(key, value) for key, value in trailers.items() if _NAMES.get(key) in self.trailers]
        if "co_author" in self.trailers and f"{self.author[0]} <{self.author[1]}>" != IDENTITY:
            kept.append(("Co-authored-by", IDENTITY))
        return f"{with_trailers(body, kept)}\n"


class _Listed(NamedTuple):
    tree: Tree
    parents: tuple[Commit, ...]
    at: str


async def wanted(git: Git, scope: Scope, person: Scope, request: LandRequest) -> "Rewriting | None":
    """Return what makes the branch's commits; None if they stay as the session made them."""
    if request.since is None:
        return None
    is_signed = await signs(git, person, request.commits)
    has_begun = request.source not in {None, request.old}
    if request.commits.is_plain and not is_signed and not has_begun:
        return None
    return Rewriting(git, scope, person, is_signed=is_signed)


async def signs(git: Git, person: Scope, config: CommitsConfig) -> bool:
    """Say whether commits are to be signed."""
    if config.sign == "auto":
        asked = ("config", "--type=bool", "--get", "commit.gpgSign")
        return (await git.run(person, *asked, accept=(0, 1, 128))).line() == "true"
    return config.sign == "always"


async def twins(git: Git, scope: Scope, source: Range, landed: Commit) -> Commits | None:
    """Return the twin of each commit of the session; None if `landed` is not a rewrite of them."""
    one = await _listed(git, scope, source)
    other = await _listed(git, scope, Range(source.base, landed))
    found: Commits = {}
    pairs = [(source.tip, landed)]
    while pairs:
        mine, theirs = pairs.pop()
        a, b = one.get(mine), other.get(theirs)
        is_below = mine == theirs and a is None
        if is_below or found.get(mine) == theirs:
            continue
        if mine in found or a is None or b is None or (a.tree, a.at) != (b.tree, b.at):
            return None
        if len(a.parents) != len(b.parents):
            return None
        found[mine] = theirs
        pairs += zip(a.parents, b.parents, strict=True)
    return found


class Rewriting:
    """A rewrite in the person's repository; no ref moves."""

    def __init__(self, git: Git, scope: Scope, person: Scope, *, is_signed: bool) -> None:
        """Take the program, and where it runs.

        Args:
            git: the program.
            scope: the person's repository.
            person: the same, with the person's own git settings.
            is_signed: whether the person's key signs the commits.
        """
        self._git = git
        self._scope = scope
        self._is_signed = is_signed
        self._person = replace(
            person.having(SSH_ASKPASS="false", SSH_ASKPASS_REQUIRE="force"),
            settings=(*person.settings, *_SETTINGS),
            limit_seconds=_SIGNING_SECONDS,
        )

    async def landed_before(self, request: LandRequest, held: Commit | None) -> Landed | None:
        """Return what an earlier attempt did; None if the branch holds something else.

        A wave whose outcome was lost may have landed more: then the twin is below what is held.
        """
        if held is None or request.since is None:
            return None
        source = Range(request.since, request.new)
        for head in await self._heads_like(request.new, Range(request.since, held)):
            found = await twins(self._git, self._scope, source, head)
            if found is not None:
                return _landed(request, found)
        return None

    async def _heads_like(self, commit: Commit, landed: Range) -> list[Commit]:
        """Return what the branch held one after the other with a commit's tree, newest first."""
        span = f"{landed.base}..{landed.tip}"
        tree = await self._git.run(self._scope, "rev-parse", f"{commit}^{{tree}}")
        form = ("--no-show-signature", "--first-parent", "--format=%H %T")
        listed = (await self._git.run(self._scope, "log", *form, span)).stdout.decode()
        pairs = map(str.split, listed.splitlines())
        return [Commit(head) for head, found in pairs if found == tree.line()]

    async def of(self, request: LandRequest) -> Landed | Refused:
        """Return what the branch is to hold, or why that cannot be made."""
        assert request.since is not None, "`wanted` asks for it"
        known: Commits | None = {}
        if request.old is not None:
            before = Range(request.since, request.source or request.old)
            known = await twins(self._git, self._scope, before, request.old)
        if known is None:
            text = f"{request.ref!r} does not hold what this session put there; rename it"
            return Refused(reason="moved", text=text)
        source = Range(request.since, request.new)
        try:
            try:
                found = await self._rewritten(request.commits, source, known)
            except (UnsignedError, UnknownPersonError) as error:
                if request.commits.sign == "always" or not self._is_signed:
                    raise
                self._is_signed = False
                found = await self._rewritten(request.commits, source, known)
                return _landed(request, found, f"the commits have no signature: {error}; {_ADVICE}")
        except UnsignedError as error:
            text = f"the commits could not be signed: {error}; {_ADVICE}"
            return Refused(reason="unsigned", text=text)
        except UnknownPersonError as error:
            return Refused(reason="unsigned", text=str(error))
        return _landed(request, found)

    async def _rewritten(self, config: CommitsConfig, source: Range, known: Commits) -> Commits:
        """Return `known` with a twin for every commit of the session.

        Raises:
            UnknownPersonError: the person is to be named, and git does not know them.
            UnsignedError: the key could not be used.
        """
        committer = config.committer or ("me" if self._is_signed else config.author)
        style = _Style(
            author=await self._identity(config.author),
            committer=await self._identity(committer),
            trailers=config.trailers,
            is_signed=self._is_signed,
        )
        arguments = ("rev-list", "--topo-order", "--reverse", f"{source.base}..{source.tip}")
        listed = (await self._git.run(self._scope, *arguments)).stdout.decode().split()
        found = dict(known)
        for commit in map(Commit, listed):
            if commit not in found:
                found[commit] = await self._twin(commit, found, style)
        return found

    async def _identity(self, who: str) -> tuple[str, str]:
        """Return a name and an address."""
        if who == "blueflame":
            name, _, address = IDENTITY.partition(" <")
            return name, address.rstrip(">")
        asked = [
            (await self._git.run(self._person, "config", "--get", key, accept=(0, 1))).line()
            for key in ("user.name", "user.email")
        ]
        if not all(asked):
            raise UnknownPersonError(
                "git does not say who you are: set user.name and user.email with `git config`, "
                "or `commits.author` and `commits.committer` to `blueflame`"
            )
        return asked[0], asked[1]

    async def _twin(self, commit: Commit, found: Commits, style: _Style) -> Commit:
        raw = (await self._git.run(self._scope, "cat-file", "commit", commit)).stdout
        head, _, message = raw.decode("utf-8", "replace").partition("\n\n")
        fields = [line.partition(" ")[::2] for line in head.splitlines()]
        tree = next(value for key, value in fields if key == "tree")
        parents = [Commit(value) for key, value in fields if key == "parent"]
        at = next(value for key, value in fields if key == "author").rpartition("> ")[2]
        options = [option for each in parents for option in ("-p", found.get(each, each))]
        options += ["-S"] if style.is_signed else []
        scope = (self._person if style.is_signed else self._scope).having(**style.variables(at))
        text = style.message(message).encode()
        try:
            made = await self._git.run(scope, "commit-tree", *options, "-F", "-", tree, stdin=text)
        except (GitCommandError, GitTimedOutError) as error:
            if not style.is_signed:
                raise
            said = error.stderr if isinstance(error, GitCommandError) else str(error)
            raise UnsignedError(" ".join(said.split())[:_TEXT]) from error
        return Commit(made.line())


def _landed(request: LandRequest, found: Commits, notice: str = "") -> Landed:
    told = {each: found[each] for each in (*request.heads, request.new) if each in found}
    return Landed(ref=request.ref, commit=found[request.new], commits=told, notice=notice)


async def _listed(git: Git, scope: Scope, span: Range) -> dict[Commit, _Listed]:
    form = "--format=%H%x1f%T%x1f%P%x1f%at"
    plain = ("--no-show-signature", "-z", form)  # the person's setting would add lines
    listed = await git.run(scope, "log", *plain, f"{span.base}..{span.tip}")
    found: dict[Commit, _Listed] = {}
    for record in listed.stdout.decode().split("\0"):
        parts = record.split("\x1f")
        if len(parts) == _FIELDS:
            parents = tuple(Commit(each) for each in parts[2].split())
            found[Commit(parts[0])] = _Listed(Tree(parts[1]), parents, parts[3])
    return found
