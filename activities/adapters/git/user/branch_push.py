"""Pushes one commit of the user's repository to a branch elsewhere.

| the branch there holds                   | what happens                                       |
|------------------------------------------|----------------------------------------------------|
| the commit                               | nothing                                            |
| nothing                                  | it is created                                      |
| what Blue Flame pushed before            | it is moved, also where that is not forward        |
| a commit that this one continues         | it is moved forward                                |
| anything else                            | refused: someone else pushed there                 |

A lease guards each case: what appears there in between is not overwritten. The token goes to git in
its environment, for this one address; git follows no redirection with it and stores nothing.
"""

import base64
from typing import Final
from urllib.parse import urlsplit

from activities.adapters.git.git_command import Git, Scope
from activities.adapters.git.user.user_git import Found, as_owner, resolve, without_programs
from activities.ports.git_errors import GitCommandError, PushFailedError
from activities.ports.user_repository import Pushed, PushOutcome, PushRefused, PushRequest
from workflows.domain.ids import Commit

_REFUSED: Final = ("[remote rejected]", "[rejected]", "denied", "protected branch")
_PASSING: Final = ("stale info", "failed to update ref", "Internal Server Error")
"""Of rejections: the branch there has just moved or is being moved, or the service has a fault."""
_BLOCKED: Final = "exists; cannot create"
"""A branch has the name of a folder of this one: that does not pass."""
_UNAUTHORISED: Final = ("Authentication failed", "error: 401", "error: 403", "could not read User")
_TEXT: Final = 400


async def push(git: Git, found: Found, request: PushRequest) -> PushOutcome:
    """Push, or say why not; see the port."""
    ref = f"refs/heads/{request.branch}"
    scope = await _scope(git, found, request)
    try:
        held = await _held(git, scope, request.url, ref)
        if held == request.commit:
            return Pushed()
        if not await _may_move(git, scope, request, held):
            return PushRefused(
                text=f"branch {request.branch!r} on the remote is at {held}, where Blue Flame did "
                "not put it, and it is not overwritten; delete or rename that branch there"
            )
        arguments = (
            "--no-verify",
            "--recurse-submodules=no",
            "--no-follow-tags",
            f"--force-with-lease={ref}:{held or ''}",
        )
        await git.run(scope, "push", *arguments, request.url, f"{request.commit}:{ref}")
    except GitCommandError as error:
        return _outcome(error, request)
    return Pushed()


async def _scope(git: Git, found: Found, request: PushRequest) -> Scope:
    scope = await as_owner(git, found, await without_programs(git, found.scope()))
    count = int(scope.env.get("GIT_CONFIG_COUNT", "0"))
    parts = urlsplit(request.url)
    pairs = [("http.followRedirects", "false")]
    if request.token.get_secret_value() and parts.scheme in {"http", "https"}:
        name = f"http.{parts.scheme}://{parts.netloc}/.extraHeader"
        pairs.append((name, f"Authorization: Basic {_basic(request)}"))
    for index, (key, value) in enumerate(pairs, start=count):
        scope = scope.having(**{f"GIT_CONFIG_KEY_{index}": key, f"GIT_CONFIG_VALUE_{index}": value})
    scope = scope.having(GIT_CONFIG_COUNT=str(count + len(pairs)))
    return scope.having(GIT_ALLOW_PROTOCOL=parts.scheme, **request.proxies)


def _basic(request: PushRequest) -> str:
    """Return the credentials: all three services take any user's name with a token."""
    return base64.b64encode(f"oauth2:{request.token.get_secret_value()}".encode()).decode()


async def _held(git: Git, scope: Scope, url: str, ref: str) -> Commit | None:
    listed = await git.run(scope, "ls-remote", "--refs", url, ref)
    name, _, _ = listed.line().partition("\t")
    return Commit(name) if name else None


async def _may_move(git: Git, scope: Scope, request: PushRequest, held: Commit | None) -> bool:
    if held is None or held == request.before:
        return True
    if await resolve(git, scope, held) is None:
        return False
    ancestry = await git.run(
        scope, "merge-base", "--is-ancestor", held, request.commit, accept=(0, 1)
    )
    return ancestry.code == 0


def _outcome(error: GitCommandError, request: PushRequest) -> PushRefused:
    """Return a refusal that lasts.

    Raises:
        PushFailedError: the failure may pass.
    """
    lines = error.stderr.splitlines()
    said = "\n".join(line for line in lines if not line.startswith("hint:"))
    if token := request.token.get_secret_value():
        said = said.replace(token, "…").replace(_basic(request), "…")
    said = " ".join(said.split())
    told = said[:_TEXT]
    if any(words in said for words in _UNAUTHORISED):
        return PushRefused(
            text=f"the remote refuses the token for a push: {told}; it needs the right to write "
            "contents of this repository"
        )
    may_pass = any(words in said for words in _PASSING) and _BLOCKED not in said
    if may_pass or not any(words in said for words in _REFUSED):
        raise PushFailedError(f"the push did not succeed: {told}") from None
    return PushRefused(text=f"the remote refuses the branch {request.branch!r}: {told}")
