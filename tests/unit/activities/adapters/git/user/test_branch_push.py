"""A push over https with a token, to real git behind a server that asks for one."""

from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

import pytest
from pydantic import SecretStr

from activities.ports.git_errors import PushFailedError
from activities.ports.user_repository import Pushed, PushOutcome, PushRefused, PushRequest
from tests.git_server import GitServer, git_server
from tests.unit.activities.adapters.git.home import Home, plain_git
from workflows.domain.ids import Commit

BRANCH = "blueflame/s1"


@dataclass
class Remote:
    """A person's repository and a git server with an empty one."""

    home: Home
    server: GitServer
    bare: Path

    async def push(self, token: str, before: Commit | None = None) -> PushOutcome:
        """Push the head."""
        request = PushRequest(
            path=self.home.path,
            url=f"{self.server.url}/acme/shop.git",
            branch=BRANCH,
            commit=Commit(self.home.run("rev-parse", "HEAD")),
            before=before,
            token=SecretStr(token),
            proxies={"GIT_SSL_CAINFO": str(self.server.certificate)},
        )
        return await self.home.user.push(request)

    def held(self) -> str:
        """Return what the branch holds there; empty if there is none."""
        form = "--format=%(objectname)"
        return plain_git(self.bare, "for-each-ref", form, f"refs/heads/{BRANCH}")


@pytest.fixture
def remote(tmp_path: Path) -> Generator[Remote]:
    """Yield a repository, and a server that takes the token `good`."""
    home = Home(tmp_path / "home")
    home.top.mkdir()
    home.make({"a.txt": "one\n"})
    bare = tmp_path / "served" / "acme" / "shop.git"
    bare.mkdir(parents=True)
    plain_git(bare, "init", "-q", "--bare")
    with git_server(tmp_path / "served") as server:
        server.tokens = {"good"}
        yield Remote(home, server, bare)


async def test_the_token_opens_the_branch_and_a_second_push_asks_only(remote: Remote):
    assert await remote.push("good") == Pushed()
    assert remote.held() == remote.home.base
    before = len(remote.server.asked)
    assert await remote.push("good") == Pushed()
    assert not [asked for asked, _ in remote.server.asked[before:] if "receive-pack" in asked]


async def test_a_token_that_was_revoked_is_told_and_not_shown(remote: Remote):
    first = await remote.push("good")
    assert first == Pushed()
    held = Commit(remote.held())
    remote.home.commit({"a.txt": "two\n"})
    remote.server.tokens = {"another"}
    refused = await remote.push("good", held)
    assert isinstance(refused, PushRefused)
    assert "refuses the token" in refused.text
    assert "good" not in refused.text
    assert remote.held() == held
    assert await remote.push("another", held) == Pushed()
    assert remote.held() == remote.home.base


async def test_nothing_is_asked_for_at_a_terminal_or_of_a_helper(remote: Remote):
    helper = remote.home.top / "helper"
    helper.write_text("#!/bin/sh\ntouch called\necho username=x\necho password=good\n")
    helper.chmod(0o755)
    remote.home.run("config", "credential.helper", str(helper))
    assert isinstance(await remote.push(""), PushRefused)
    assert not list(remote.home.path.rglob("called"))


async def test_a_branch_that_is_being_moved_there_is_worth_another_try(remote: Remote):
    lock = remote.bare / "refs" / "heads" / f"{BRANCH}.lock"
    lock.parent.mkdir()
    lock.touch()
    with pytest.raises(PushFailedError, match="cannot lock ref"):
        await remote.push("good")
    lock.unlink()
    assert await remote.push("good") == Pushed()


async def test_a_name_that_another_branch_takes_is_refused(remote: Remote):
    taken = f"HEAD:refs/heads/{BRANCH.partition('/')[0]}"
    remote.home.run("push", "-q", str(remote.bare), taken)
    refused = await remote.push("good")
    assert isinstance(refused, PushRefused)
    assert "exists; cannot create" in refused.text


async def test_a_server_that_no_one_vouches_for_gets_no_token(remote: Remote):
    remote.server.certificate.write_text("")
    with pytest.raises(PushFailedError) as caught:
        await remote.push("good")
    assert "good" not in str(caught.value)
    assert remote.server.asked == []


@pytest.mark.parametrize("before", [0, 340, 360, 380])
async def test_a_token_in_a_remotes_long_words_is_replaced_before_they_are_cut(
    remote: Remote, before: int
):
    token = "wq7Yz-plain-looking-token-0123456789"
    remote.server.tokens = {token}
    hook = remote.bare / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\necho '{'x' * before}{token} is watched' >&2\nexit 1\n")
    hook.chmod(0o755)
    refused = await remote.push(token)
    assert isinstance(refused, PushRefused)
    assert not [n for n in range(4, len(token) + 1) if token[:n] in refused.text]
