"""A history that is cut on its way to the host: what is there, and what may be missing."""

import random
import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from activities.adapters.git.host_git import GitHostRepository, Seams
from activities.adapters.git.repository_cleanup import Cleanup
from activities.adapters.git.user.branch_landing import GitUserRepository
from activities.adapters.git.user.history_depth import LargeHistory
from activities.ports.git_errors import PrerequisiteMissingError
from activities.ports.history_values import Waiting
from activities.ports.user_repository import Landed, LandRequest
from tests.unit.activities.adapters.git.home import (
    BRANCH,
    RESULT,
    SESSION,
    Home,
    fingerprint,
    plain_git,
)
from workflows.domain.ids import Commit, SessionId
from workflows.domain.session.session_config import HistoryDepth

KEY = "k" * 32
LATER, THIRD = SessionId("s2"), SessionId("s3")


class Graph:
    """A history made of commits with given parents; each commit has a file of its own."""

    def __init__(self, home: Home) -> None:
        self.home = home
        home.path.mkdir()
        home.run("init", "-q", "-b", "main")
        self.names: list[Commit] = []

    def add(self, *parents: tuple[int, ...], seed: int = 0) -> None:
        """Add commits, each with the numbers of its parents."""
        chance = random.Random(seed)
        text = list[str]()
        first = len(self.names)
        for number, of in enumerate(parents, first):
            text.append(
                f"commit refs/heads/n{number}\nmark :{number + 1}\n"
                f"committer A <a@b> {1_700_000_000 + number} +0000\ndata 1\nc\n"
            )
            links = [f":{each + 1}" if each >= first else self.names[each] for each in of]
            text += [f"{'merge' if place else 'from'} {link}\n" for place, link in enumerate(links)]
            content = f"{chance.random()}"
            text.append(f"M 100644 inline f{number}\ndata {len(content)}\n{content}\n")
        stream = "".join(text).encode()
        command = ("git", "fast-import", "--quiet")
        subprocess.run(command, cwd=self.home.path, input=stream, check=True)
        for number in range(first, first + len(parents)):
            self.names.append(Commit(self.home.run("rev-parse", f"n{number}")))
        self.base(len(self.names) - 1)

    def base(self, number: int) -> None:
        """Make a commit the base, on the branch `main`."""
        self.home.base = self.names[number]
        self.home.run("update-ref", "refs/heads/main", self.home.base)

    def kept(self, depth: HistoryDepth) -> set[str]:
        """Return the base's commits that `git clone --depth` brings."""
        home = self.home
        if depth in ("full", "auto"):
            return set(home.run("rev-list", home.base).split())
        place = home.top / f"clone-{depth}-{home.base}"
        if not place.exists():
            url = f"file://{home.path}"
            plain_git(home.top, "clone", "-q", "--bare", f"--depth={depth}", url, place.name)
        return set(plain_git(place, "rev-list", home.base).split())


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def line(count: int, first: int = 0) -> list[tuple[int, ...]]:
    """Commits in a row."""
    return [(number - 1,) if number else () for number in range(first, first + count)]


def cutting(home: Home, depth: int = 3) -> None:
    """Let `auto` cut each history to so many commits."""
    home.user = GitUserRepository(home.git, home.person, LargeHistory(0, depth))


def on_host(home: Home) -> set[str]:
    return set(home.of_host("rev-list", home.base).split())


def ends(home: Home) -> set[str]:
    place = home.bare / "shallow"
    return set(place.read_text().split()) if place.exists() else set()


def pack_bytes(home: Home) -> int:
    return sum(path.stat().st_size for path in (home.bare / "objects/pack").glob("*.pack"))


def check(home: Home) -> None:
    """Check both repositories, and that no history ends where its parents are."""
    assert "missing" not in home.of_host("fsck", "--strict")
    assert home.run("fsck", "--strict", "--no-dangling") == ""
    held = set(home.of_host("rev-list", "--all").split())
    for end in ends(home) & held:
        parents = home.run("rev-list", "--parents", "--no-walk", end).split()[1:]
        assert not held.issuperset(parents)


@pytest.mark.parametrize("directly", [True, False])
@pytest.mark.parametrize("depth", [1, 2, 3, 4, 50])
async def test_a_number_keeps_what_a_fetch_of_that_depth_keeps(
    home: Home, depth: int, directly: bool
):
    graph = Graph(home)
    graph.add((), (0,), (1,), (0,), (3, 1), (2, 4), (5,), (3,), (6, 7), (8,))
    before = fingerprint(home.path)
    await home.import_base(depth=depth, directly=directly)
    assert fingerprint(home.path) == before
    assert on_host(home) == graph.kept(depth)
    assert (await home.host.kept_commits(home.base, ())) == (
        None if depth == 50 else len(on_host(home))
    )
    check(home)


async def test_auto_cuts_only_a_large_history(home: Home):
    graph = Graph(home)
    graph.add(*line(8))
    await home.import_base(depth="auto")
    assert (ends(home), on_host(home)) == (set(), graph.kept("full"))
    other = Home(home.top / "other")
    other.top.mkdir()
    other.path, other.base = home.path, home.base
    cutting(other)
    await other.import_base(depth="auto")
    assert on_host(other) == graph.kept(3)
    check(other)


@pytest.mark.parametrize("options", [(), ("--tags",), ("--tags", "--match", "*[0-9]*")])
async def test_auto_describes_as_the_person_does(home: Home, options: tuple[str, ...]):
    """A tag on a merged branch would become the nearest, were only the nearest's commits kept."""
    graph = Graph(home)
    graph.add(*line(20), (8,), (19, 20), *line(6, 22))
    home.run("tag", "-a", "-m", "first", "v1", graph.names[11])
    home.run("tag", "v2", graph.names[20])
    home.run("tag", "stable", graph.names[13])
    cutting(home)
    await home.import_base(depth="auto")
    await home.host.import_names((await home.user.names(home.path, home.base)).names)
    told = home.run("describe", "--long", *options, home.base)
    assert home.of_host("describe", "--long", *options, home.base) == told
    assert graph.names[7] not in on_host(home)
    check(home)


async def test_auto_keeps_the_merge_base_with_branches_that_gates_compare_with(home: Home):
    graph = Graph(home)
    graph.add(*line(20))
    for name, number in (("release", 2), ("main", 8), ("topic", 14)):
        home.run("update-ref", f"refs/remotes/origin/{name}", graph.names[number])
    home.run("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
    cutting(home)
    await home.import_base(depth="auto")
    await home.host.import_names((await home.user.names(home.path, home.base)).names)
    assert on_host(home) == set(graph.names[8:])
    assert home.of_host("merge-base", "origin/main", home.base) == graph.names[8]
    shown = home.of_host("for-each-ref", "--format=%(refname)", "refs/remotes").split()
    assert shown == [f"refs/remotes/origin/{name}" for name in ("HEAD", "main", "topic")]
    check(home)


async def test_auto_keeps_the_branch_that_the_base_follows(home: Home):
    graph = Graph(home)
    graph.add(*line(20))
    home.run("update-ref", "refs/remotes/origin/mine", graph.names[4])
    home.run("update-ref", "refs/remotes/origin/newer", graph.names[12])
    home.run("config", "branch.main.remote", "origin")
    home.run("config", "branch.main.merge", "refs/heads/mine")
    home.run("config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*")
    cutting(home)
    await home.import_base(depth="auto")
    assert on_host(home) == set(graph.names[4:])


async def test_a_tag_that_is_cut_off_is_not_named_though_its_commit_is_there(home: Home):
    graph = Graph(home)
    graph.add(*line(6))
    home.run("tag", "old", graph.names[1])
    await home.import_base(depth=2)
    home.of_host(
        "fetch", "-q", "--no-tags", "--depth=1", f"file://{home.path}", f"{graph.names[1]}:refs/x"
    )
    home.of_host("update-ref", "-d", "refs/x")
    await home.host.import_names((await home.user.names(home.path, home.base)).names)
    assert home.of_host("for-each-ref", "refs/tags") == ""


@pytest.mark.parametrize("directly", [True, False])
@pytest.mark.parametrize("depth", [2, "auto"])
async def test_a_newer_base_comes_by_difference(home: Home, depth: HistoryDepth, directly: bool):
    graph = Graph(home)
    graph.add(*line(9))
    (home.path / "large").write_bytes(random.Random(1).randbytes(200_000))
    home.run("reset", "-q", "--mixed", "main")
    graph.names.append(home.commit({}))
    cutting(home)
    await home.import_base(depth=depth, directly=directly)
    first, before = on_host(home), pack_bytes(home)
    graph.add((9,), (10,), seed=2)
    part = await home.import_base(LATER, depth, directly=directly)
    assert part.known == (graph.names[9],)
    assert pack_bytes(home) - before < 10_000
    assert on_host(home) == first | {*graph.names[10:]}
    check(home)


@pytest.mark.parametrize("directly", [True, False])
@pytest.mark.parametrize("depth", ["full", 5, "auto"])
async def test_a_session_that_wants_more_gets_the_rest(
    home: Home, depth: HistoryDepth, directly: bool
):
    graph = Graph(home)
    graph.add(*line(9), (3,), (8, 9), (10,))
    await home.import_base(depth=2, directly=directly)
    assert await home.host.kept_commits(home.base, ()) == 2
    part = await home.import_base(LATER, depth, directly=directly)
    assert not part.is_empty
    assert on_host(home) == graph.kept(depth)
    check(home)
    assert (await home.import_base(THIRD, depth)).is_empty
    if depth != 5:
        assert await home.host.kept_commits(home.base, ()) is None
        assert (await home.host.await_base(home.base)).ends == ()


@pytest.mark.parametrize("depth", [1, "auto"])
async def test_a_whole_history_is_never_cut(home: Home, depth: HistoryDepth):
    graph = Graph(home)
    graph.add(*line(9))
    cutting(home)
    await home.import_base()
    await home.import_base(LATER, depth)
    graph.add((8,), (9,), seed=2)
    await home.import_base(THIRD, depth)
    assert ends(home) == (set() if depth == "auto" else {graph.names[10]})
    for number in (8, 9) if depth == "auto" else (8,):
        graph.base(number)
        assert on_host(home) == graph.kept("full")
    check(home)


@pytest.mark.parametrize("wishes", [(1, "full"), ("full", 1), (2, 4), ("full", 3)])
async def test_two_sessions_that_begin_at_once_both_get_what_they_want(
    home: Home, wishes: tuple[HistoryDepth, HistoryDepth]
):
    graph = Graph(home)
    graph.add(*line(6))
    waiting = await home.host.await_base(home.base)
    for session, wish in zip((SESSION, LATER), wishes, strict=True):
        await home.import_after(waiting, session, wish, directly=True)
    assert on_host(home) == max((graph.kept(wish) for wish in wishes), key=len)
    check(home)


async def test_another_import_may_cut_a_history_while_it_is_checked(home: Home):
    graph = Graph(home)
    graph.add(*line(6))
    seen = list[str]()

    def meddle(name: str) -> None:
        # As an import of a lesser part does, until the whole has become a base.
        if not seen:
            (home.bare / "shallow").write_text(f"{graph.names[3]}\n")
        seen.append(name)

    home.host = GitHostRepository(home.git, home.top / "host", KEY, Seams(fail_point=meddle))
    await home.import_base()
    assert seen == ["after-arrival", "after-arrival"]
    assert on_host(home) == graph.kept("full")
    check(home)


async def test_what_a_deeper_history_adds_is_held_until_it_is_checked(home: Home):
    """A clean-up between arrival and check would remove what only the old end leads to."""
    graph = Graph(home)
    graph.add(*line(6))
    await home.import_base(depth=2)

    def clean(_: str) -> None:
        home.of_host("repack", "-q", "-a", "-d")
        home.of_host("prune", "--expire=now")

    home.host = GitHostRepository(home.git, home.top / "host", KEY, Seams(fail_point=clean))
    await home.import_base(LATER)
    assert on_host(home) == graph.kept("full")
    check(home)


async def test_a_shallow_clone_can_be_cut_further_and_be_completed(home: Home):
    graph = Graph(home)
    graph.add(*line(9))
    whole = home.path
    plain_git(home.top, "clone", "-q", "--depth=5", f"file://{whole}", "clone")
    home.path = home.top / "clone"
    own = (await home.user.names(home.path, home.base)).shallow
    depths: tuple[HistoryDepth, ...] = (2, 9, "full")
    for number, depth in enumerate(depths):
        await home.import_base(SessionId(f"s{number}"), depth)
        assert len(on_host(home)) == (2 if depth == 2 else 5)
        cut = await home.host.kept_commits(home.base, own)
        assert cut == (2 if depth == 2 else None)
    home.run("fetch", "-q", "--unshallow")
    assert not (await home.import_base(THIRD)).is_empty
    assert on_host(home) == graph.kept("full")
    check(home)


async def work_on_a_cut_history(home: Home) -> tuple[Graph, Commit]:
    """Return a history of six commits of which the host has two, and a task's commit on it."""
    graph = Graph(home)
    graph.add(*line(6))
    await home.import_base(depth=2)
    place = (await home.host.create_worktree("t1", home.base)).path
    (place / "new").write_text("new\n")
    commit = await home.commit_work()
    return graph, commit


async def test_work_on_a_cut_history_lands_on_the_whole(home: Home):
    _, commit = await work_on_a_cut_history(home)
    assert isinstance(await home.land(commit), Landed)
    assert len(home.run("rev-list", BRANCH).split()) == 7
    assert not (home.path / ".git/shallow").exists()
    check(home)


async def test_work_lands_where_the_base_was_rewritten_and_lost(home: Home):
    graph, commit = await work_on_a_cut_history(home)
    await home.host.advance(RESULT, commit, None)
    for name in ("main", "n5"):
        home.run("update-ref", f"refs/heads/{name}", graph.names[3])
    home.run("branch", "-D", "n4")
    home.run("reflog", "expire", "--expire=now", "--all")
    home.run("gc", "-q", "--prune=now")
    bundle = await home.host.bundle(RESULT, home.base)
    request = LandRequest(path=home.path, bundle=bundle, ref=BRANCH, old=None, new=commit)
    with pytest.raises(PrerequisiteMissingError):
        await home.user.land(request)
    base = await home.host.bundle(home.base, None)
    request = request.model_copy(update={"base": base})
    assert isinstance(await home.user.land(request), Landed)
    assert len(home.run("rev-list", BRANCH).split()) == 7
    assert home.run("fsck", "--strict", "--no-dangling") == ""


async def test_a_clean_up_keeps_the_history_and_its_ends(home: Home):
    graph = Graph(home)
    graph.add(*line(9))
    await home.import_base(depth=5)
    graph.base(2)
    await home.import_base(LATER, 1)
    soon = datetime.now(UTC) + timedelta(hours=1)
    cleanup = Cleanup(home.git, home.top / "host", KEY)
    for is_idle in (False, True):
        await cleanup.prune(soon, is_idle=is_idle)
        assert ends(home) == {graph.names[4], graph.names[2]}
        check(home)
    await cleanup.delete_refs((await cleanup.refs())[LATER])
    await cleanup.prune(soon, is_idle=True)
    assert ends(home) == {graph.names[4]}
    graph.base(8)
    assert len(on_host(home)) == 5
    check(home)


async def test_a_host_that_lost_what_it_had_gets_all_that_is_wanted(home: Home):
    graph = Graph(home)
    graph.add(*line(9))
    await home.import_base(depth=2)
    graph.add((8,), seed=2)
    waiting = await home.host.await_base(home.base)
    shutil.rmtree(home.top / "host")
    await home.host.await_base(home.base)
    with pytest.raises(PrerequisiteMissingError):
        await home.import_after(waiting, LATER, 2, directly=False)
    await home.import_after(Waiting(is_there=False), LATER, 2, directly=False)
    assert on_host(home) == graph.kept(2)
    check(home)


DEPTHS: tuple[HistoryDepth, ...] = (1, 2, 4, 7, "full", "auto")


def chances(seed: int, commits: int = 30) -> tuple[random.Random, list[tuple[int, ...]]]:
    """A history with merges, and what to draw the rest from."""
    chance = random.Random(seed)
    parents = list[tuple[int, ...]]([()])
    for number in range(1, commits):
        near = range(max(0, number - 6), number)
        count = min(len(near), chance.choice((1, 1, 1, 2, 2, 3)))
        parents.append(tuple(sorted(chance.sample(near, count), reverse=True)))
    return chance, parents


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
async def test_auto_describes_any_history_as_the_person_does(home: Home, seed: int):
    chance, parents = chances(seed, 80)
    graph = Graph(home)
    graph.add(*parents)
    for number in range(chance.randrange(1, 6)):
        kind = chance.choice([(), ("-a", "-m", "x")])
        name = chance.choice([f"v{number}", "stable", "beta"])
        home.run("tag", "-f", *kind, name, chance.choice(graph.names[20:70]))
    cutting(home, 2)
    await home.import_base(depth="auto")
    await home.host.import_names((await home.user.names(home.path, home.base)).names)
    check(home)
    for options in ((), ("--tags",), ("--tags", "--match=*[0-9]*")):
        asked = ("describe", "--always", "--long", *options, home.base)
        assert home.of_host(*asked) == home.run(*asked)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
async def test_each_of_many_sessions_has_at_least_what_it_wants(home: Home, seed: int):
    chance, parents = chances(seed)
    graph = Graph(home)
    graph.add(*parents)
    cutting(home, 2)
    wanted = dict[Commit, set[str]]()
    waiting = None
    for number in range(8):
        graph.base(chance.randrange(10, 30))
        depth = chance.choice(DEPTHS)
        fresh = await home.host.await_base(home.base)
        # Sometimes as if another session had come in between.
        waiting = fresh if waiting is None or chance.random() < 0.7 else waiting
        session = SessionId(f"r{number}")
        directly = chance.random() < 0.5
        try:
            await home.import_after(waiting, session, depth, directly)
        except PrerequisiteMissingError:
            await home.import_after(fresh, session, depth, directly)
        waiting = fresh
        kept = graph.kept(2 if depth == "auto" else depth)
        wanted[home.base] = wanted.get(home.base, set()) | kept
        for base, least in wanted.items():
            assert least <= set(home.of_host("rev-list", base).split())
        check(home)
        if chance.random() < 0.4:
            soon = datetime.now(UTC) + timedelta(hours=1)
            await Cleanup(home.git, home.top / "host", KEY).prune(soon, is_idle=True)
            check(home)
