"""`fast-forward`: which branch goes where, and what is said where it cannot."""

from pathlib import Path

import pytest

from starter.console.command_errors import CommandError
from starter.console.exit_codes import ExitCode
from starter.follow import fast_forward_offer
from tests.unit.activities.adapters.git.home import plain_git, write

FIRST, SECOND = "01m8fq2y3hnxcqs838w6qy9739", "01m8fq2y3hnxcqs838w6qy9740"


class Repository:
    """A person's repository with one commit on `main`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()
        self.git("init", "-q", "-b", "main")
        self.base = self.commit("a.txt")

    def git(self, *arguments: str) -> str:
        return plain_git(self.path, *arguments)

    def commit(self, name: str) -> str:
        write(self.path, {name: f"{name}\n"})
        self.git("add", "-A")
        self.git("commit", "-q", "-m", name)
        return self.git("rev-parse", "HEAD")

    def session(self, name: str, file: str = "b.txt") -> str:
        """Put a session's branch one commit ahead of what is checked out."""
        self.git("checkout", "-q", "-b", f"blueflame/{name}")
        commit = self.commit(file)
        self.git("checkout", "-q", "main")
        return commit

    async def forward(self, session: str | None = None, branch: str | None = None) -> list[str]:
        return await fast_forward_offer.go(
            await fast_forward_offer.find_way(self.path, session, branch)
        )


@pytest.fixture
def mine(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "mine")


@pytest.mark.parametrize("session", [None, FIRST, FIRST[-6:].upper()], ids=["none", "id", "end"])
async def test_branch_and_checkout_follow(mine: Repository, session: str | None) -> None:
    work = mine.session(FIRST)
    said = await mine.forward(session)
    assert mine.git("rev-parse", "main") == work
    assert (mine.path / "b.txt").read_text() == "b.txt\n"
    assert mine.git("status", "--porcelain") == ""
    assert said[0] == f"main is at blueflame/{FIRST} now, with the checkout {mine.path}"


async def test_a_folder_in_the_repository_is_enough(mine: Repository) -> None:
    work = mine.session(FIRST, "folder/b.txt")
    (mine.path / "other").mkdir()
    way = await fast_forward_offer.find_way(mine.path / "other", None, None)
    assert (way.repository, way.new) == (mine.path, work)


async def test_another_branch_is_moved_without_a_checkout(mine: Repository) -> None:
    mine.git("branch", "release")
    work = mine.session(FIRST)
    said = await mine.forward(branch="release")
    assert (mine.git("rev-parse", "release"), mine.git("rev-parse", "main")) == (work, mine.base)
    assert said[0] == f"release is at blueflame/{FIRST} now"


async def test_what_is_there_already_is_said(mine: Repository) -> None:
    mine.session(FIRST)
    await mine.forward()
    (said,) = await mine.forward(FIRST)
    assert said.startswith(f"main is at blueflame/{FIRST} already")


async def refused(mine: Repository, *arguments: str | None) -> CommandError:
    before = mine.git("for-each-ref"), mine.git("status", "--porcelain")
    with pytest.raises(CommandError) as error:
        await mine.forward(*arguments)
    assert (mine.git("for-each-ref"), mine.git("status", "--porcelain")) == before
    return error.value


async def test_of_several_one_is_named(mine: Repository) -> None:
    mine.session(FIRST)
    mine.session(SECOND)
    said = str(await refused(mine))
    assert all(part in said for part in ("several sessions match: ", FIRST, SECOND, "; name one"))
    # One that the branch has already is no longer meant.
    await mine.forward(FIRST)
    mine.git("branch", "-f", f"blueflame/{SECOND}", mine.commit("c.txt"))
    mine.git("reset", "-q", "--hard", "HEAD~1")
    assert f"blueflame/{SECOND} now" in (await mine.forward())[0]


@pytest.mark.parametrize(
    ("session", "words"),
    [
        (None, "no session has brought anything to"),
        ("nope", "no session that matches 'nope' has a branch in"),
    ],
)
async def test_a_session_without_a_branch_is_reported(
    mine: Repository, session: str | None, words: str
) -> None:
    error = await refused(mine, session)
    assert words in str(error)
    assert error.code is (ExitCode.STALE if session is None else ExitCode.USAGE)


async def test_a_branch_that_has_all_is_said(mine: Repository) -> None:
    mine.session(FIRST)
    await mine.forward()
    assert "your branch has all that sessions brought" in str(await refused(mine))


async def test_no_branch_is_said(mine: Repository) -> None:
    """Field report R22."""
    mine.session(FIRST)
    assert "name your branch with --branch" in str(await refused(mine, FIRST, mine.base))
    mine.git("checkout", "-q", "--detach")
    assert "no branch is checked out" in str(await refused(mine))


async def test_says_that_a_folder_is_not_a_repository(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="is not in a git repository"):
        await fast_forward_offer.find_way(tmp_path, None, None)


async def test_a_file_in_the_way_is_left_alone(mine: Repository) -> None:
    mine.session(FIRST)
    (mine.path / "b.txt").write_text("mine\n")
    error = await refused(mine)
    assert "b.txt" in str(error)
    assert "nothing was changed" in str(error)
    assert error.code is ExitCode.STALE
    assert (mine.path / "b.txt").read_text() == "mine\n"


async def test_a_failed_checkout_is_reported_with_what_git_left(
    mine: Repository,
) -> None:
    write(mine.path, {".gitattributes": "*.big filter=broken\n"})
    mine.base = mine.commit("c.txt")
    mine.session(FIRST, "b.big")
    mine.git("config", "filter.broken.smudge", "false")
    mine.git("config", "filter.broken.required", "true")
    with pytest.raises(CommandError) as error:
        await mine.forward()
    assert error.value.code is ExitCode.FAILED
    assert "`git status` there shows what it left" in str(error.value)
    assert "nothing was changed" not in str(error.value)
    assert mine.git("rev-parse", "main") == mine.base


async def test_nothing_is_offered_without_a_repository(tmp_path: Path) -> None:
    assert await fast_forward_offer.open_way(tmp_path / "gone", FIRST) is None


async def test_other_work_on_the_branch_is_kept(mine: Repository) -> None:
    mine.session(FIRST)
    mine.commit("c.txt")
    assert await fast_forward_offer.open_way(mine.path, FIRST) is None
    assert "does not follow 'main'; merge the session's branch yourself" in str(await refused(mine))


async def test_only_what_filters_need_is_passed_on(mine: Repository, tmp_path: Path) -> None:
    """A variable of the shell that names another repository has no effect."""
    work = mine.session(FIRST)
    other = Repository(tmp_path / "other")
    way = await fast_forward_offer.find_way(mine.path, None, None)
    await fast_forward_offer.go(way, {"GIT_DIR": str(other.path / ".git"), "PATH": "/usr/bin:/bin"})
    assert mine.git("rev-parse", "main") == work
    assert other.git("rev-parse", "main") == other.base
