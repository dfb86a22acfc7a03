"""Exporting and landing: bundles only, one ref, and the user's checkout untouched."""

import asyncio
import importlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path

import pytest

from activities.ports.git_errors import BundleError, PrerequisiteMissingError
from activities.ports.history_values import HistoryImport, HistoryPart
from activities.ports.user_repository import (
    FastForwardRequest,
    Landed,
    LandRequest,
    Refused,
)
from activities.repository.repository_warnings import warnings_of
from tests.unit.activities.adapters.git.home import (
    BRANCH,
    RESULT,
    SESSION,
    Home,
    fingerprint,
    plain_git,
)
from workflows.domain.ids import Commit, SessionId


async def work(home: Home, text: str = "changed\n") -> Commit:
    """One task's commit on the base."""
    place = await home.start()
    (place / "a.txt").write_text(text)
    return await home.commit_work()


async def test_lands_on_the_sessions_branch_and_again_without_harm(home: Home):
    home.make({"a.txt": "one\n"})
    commit = await work(home)
    outcome = await home.land(commit)
    assert outcome == Landed(ref=BRANCH, commit=commit)
    assert home.run("show", f"{commit}:a.txt") == "changed"
    assert home.run("rev-parse", BRANCH) == commit
    assert home.run("fsck", "--strict") == ""
    bundle = await home.host.bundle(RESULT, home.base)
    request = LandRequest(path=home.path, bundle=bundle, ref=BRANCH, old=None, new=commit)
    assert await home.user.land(request) == outcome


async def test_leaves_the_checkout_byte_identical(home: Home):
    home.make({"a.txt": "one\n", "b.txt": "two\n"})
    (home.path / "b.txt").write_text("dirty\n")
    (home.path / "a.txt").touch()
    (home.path / "untracked").write_text("mine\n")
    before = fingerprint(home.path)
    await home.user.inspect(home.path, None)
    assert isinstance(await home.land(await work(home)), Landed)
    after = fingerprint(home.path)
    new = {name.split("/")[1] for name in after.keys() - before.keys()}
    assert new <= {"objects", "refs", "logs"}
    assert {name: after[name] for name in before} == before


async def test_brings_no_foreign_ref(home: Home):
    home.make({"a.txt": "one\n"})
    await home.land(await work(home))
    assert home.run("for-each-ref", "--format=%(refname)").split() == [BRANCH, "refs/heads/main"]


async def test_a_second_landing_goes_on_from_the_first(home: Home):
    home.make({"a.txt": "one\n"})
    first = await work(home)
    await home.land(first)
    place = (await home.host.create_worktree("t2", first)).path
    (place / "b.txt").write_text("more\n")
    home.base = first
    second = await home.commit_work("t2")
    await home.host.advance(RESULT, second, first)
    bundle = await home.host.bundle(RESULT, first)
    request = LandRequest(path=home.path, bundle=bundle, ref=BRANCH, old=first, new=second)
    assert await home.user.land(request) == Landed(ref=BRANCH, commit=second)


async def test_landing_the_base_itself_needs_no_objects(home: Home):
    home.make({"a.txt": "one\n"})
    await home.start()
    assert await home.land(home.base) == Landed(ref=BRANCH, commit=home.base)


async def test_refuses_when_the_branch_moved(home: Home):
    home.make({"a.txt": "one\n"})
    commit = await work(home)
    home.run("branch", "blueflame/s1")
    outcome = await home.land(commit)
    assert isinstance(outcome, Refused)
    assert outcome.reason == "moved"
    assert home.run("rev-parse", BRANCH) == home.base


async def test_waits_when_a_branch_got_in_the_way_late(home: Home):
    """Field report R05."""
    home.make({"a.txt": "one\n"})
    commit = await work(home)
    home.run("branch", "blueflame")
    outcome = await home.land(commit)
    assert isinstance(outcome, Refused)
    assert outcome.reason == "blocked"
    assert "blueflame-s1" in outcome.text
    bundle = await home.host.bundle(RESULT, home.base)
    ref = "refs/heads/blueflame-s1"
    other = LandRequest(path=home.path, bundle=bundle, ref=ref, old=None, new=commit)
    assert await home.user.land(other) == Landed(ref=ref, commit=commit)


async def test_refuses_to_move_a_branch_under_a_checkout(home: Home):
    home.make({"a.txt": "one\n"})
    commit = await work(home)
    home.run("checkout", "-q", "-b", "blueflame/s1")
    await home.host.advance(RESULT, commit, None)
    bundle = await home.host.bundle(RESULT, home.base)
    request = LandRequest(path=home.path, bundle=bundle, ref=BRANCH, old=home.base, new=commit)
    outcome = await home.user.land(request)
    assert isinstance(outcome, Refused)
    assert outcome.reason == "checked_out"


async def test_tells_of_a_lock_that_someone_left(home: Home):
    home.make({"a.txt": "one\n"})
    commit = await work(home)
    lock = home.path / ".git/refs/heads/blueflame/s1.lock"
    lock.parent.mkdir()
    lock.touch()
    outcome = await home.land(commit)
    assert isinstance(outcome, Refused)
    assert outcome.reason == "busy"
    assert lock.exists()


async def test_lands_in_a_bare_repository(home: Home):
    home.make({"a.txt": "one\n"})
    commit = await work(home)
    home.run("clone", "-q", "--bare", ".", "../bare.git")
    home.path = home.top / "bare.git"
    assert await home.land(commit) == Landed(ref=BRANCH, commit=commit)


@pytest.mark.parametrize("depth", [1, 2])
async def test_a_shallow_clone_works_with_its_boundary(home: Home, depth: int):
    """Field report R02."""
    home.make({"a.txt": "one\n"})
    for text in ("two\n", "three\n"):
        home.commit({"a.txt": text})
    plain_git(home.top, "clone", "-q", f"--depth={depth}", f"file://{home.path}", "shallow")
    home.path = home.top / "shallow"
    commit = await work(home)
    assert await home.land(commit) == Landed(ref=BRANCH, commit=commit)
    assert len(home.run("log", "--format=%h", BRANCH).split()) == depth + 1
    assert home.run("fsck") == ""


async def test_refuses_a_damaged_bundle(home: Home):
    home.make({"a.txt": "one\n"})
    commit = await work(home)
    await home.host.advance(RESULT, commit, None)
    bundle = await home.host.bundle(RESULT, home.base)
    cut = bundle[: len(bundle) - 30]
    for data in (b"", b"rubbish", cut, bundle.replace(home.base.encode(), b"1" * 40)):
        request = LandRequest(path=home.path, bundle=data, ref=BRANCH, old=None, new=commit)
        with pytest.raises(BundleError):
            await home.user.land(request)
    assert home.run("for-each-ref", "refs/heads/blueflame") == ""


async def test_a_base_has_to_be_what_the_bundle_brings(home: Home):
    home.make({"a.txt": "one\n"})
    other = Commit("1" * 40)
    with tempfile.TemporaryFile() as file:
        await home.user.send(home.path, HistoryPart(home.base), file.fileno())
        with pytest.raises(BundleError, match="not base"):
            await home.host.import_base(HistoryImport(other, SESSION, bundle=file.fileno()))
    with tempfile.TemporaryFile() as file, pytest.raises(BundleError, match="not a git bundle"):
        await home.host.import_base(HistoryImport(home.base, SESSION, bundle=file.fileno()))
    with pytest.raises(PrerequisiteMissingError, match="has not arrived"):
        await home.host.import_base(HistoryImport(home.base, SESSION))


async def test_a_known_base_needs_no_bundle(home: Home):
    home.make({"a.txt": "one\n"})
    assert not (await home.host.await_base(home.base)).is_there
    await home.start()
    assert (await home.host.await_base(home.base)).is_there
    await home.host.import_base(HistoryImport(home.base, SessionId("s2")))
    assert await home.host.tip("refs/blueflame/s2/base") == home.base


async def test_only_the_base_reaches_the_host(home: Home):
    home.make({"a.txt": "one\n"})
    base = home.base
    home.run("checkout", "-q", "-b", "secret")
    secret = home.commit({"s.txt": "secret\n"})
    home.base = base
    await home.start()
    assert await home.host.read_file(base, "a.txt") == b"one\n"
    bare = home.top / "host/repositories" / f"{'k' * 32}.git"
    found = plain_git(
        bare, "-c", "safe.bareRepository=all", "cat-file", "--batch-all-objects", "--batch-check"
    )
    assert secret not in found
    assert not (bare / "FETCH_HEAD").exists()
    assert str(home.path).encode() not in b"".join(
        p.read_bytes() for p in bare.rglob("*") if p.is_file()
    )


@pytest.fixture
def open_top() -> Iterator[Path]:
    """A folder that other users can reach."""
    top = Path(tempfile.mkdtemp(prefix="blueflame-test-"))
    top.chmod(0o755)
    yield top
    shutil.rmtree(top)


@pytest.mark.root
async def test_root_lands_with_the_owners_rights(open_top: Path):
    """Field report R04."""
    home = Home(open_top)
    home.make({"a.txt": "one\n"})
    commit = await work(home)
    for place in (home.path, *home.path.rglob("*")):
        os.lchown(place, 1234, 1234)
    assert await home.land(commit) == Landed(ref=BRANCH, commit=commit)
    forward = FastForwardRequest(path=home.path, branch="main", old=home.base, new=commit)
    outcome = await home.user.fast_forward(forward)
    assert outcome == Landed(ref="refs/heads/main", commit=commit, checkout=home.path)
    owners = {place.lstat().st_uid for place in home.path.rglob("*")}
    assert owners == {1234}


def as_user(uid: int, do: Callable[[], Coroutine[None, None, list[str]]]) -> list[str]:
    """Do something in a child process that is that user for good."""
    # What is imported late is imported now: the interpreter may be closed to that user.
    for name in ("concurrent.futures.thread", "git"):
        importlib.import_module(name)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            said = asyncio.run(do())
        except BaseException as error:  # noqa: BLE001 - it must not go on as a second test run
            said = [repr(error)]
        os.write(writing, json.dumps(said).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        said = json.loads(answer.read())
    os.waitpid(child, 0)
    return said


@pytest.mark.root
def test_r04_another_user_who_may_read_gets_a_base_and_learns_who_may_land(open_top: Path):
    home = Home(open_top)
    home.make({"a.txt": "one\n"})
    for place in (home.path, *home.path.rglob("*")):
        os.lchown(place, 1234, 1234)
    (open_top / "host").mkdir()
    os.chown(open_top / "host", 4321, 4321)

    async def start_and_land() -> list[str]:
        facts = await home.user.inspect(home.path, None)
        outcome = await home.land(await work(home))
        return [*warnings_of(facts), getattr(outcome, "reason", ""), getattr(outcome, "text", "")]

    said = as_user(4321, start_and_land)
    assert len(said) == 3, said
    warning, reason, text = said
    assert warning == (
        "the repository belongs to '1234' and cannot be written from here: "
        "the result cannot be delivered; start role `land` as that user"
    )
    assert reason == "rights"
    assert "1234" in text
    assert home.run("-c", "safe.directory=*", "for-each-ref", "refs/heads/blueflame") == ""


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
async def test_tells_whose_repository_it_is_when_it_may_not_be_written(home: Home):
    home.make({"a.txt": "one\n"})
    commit = await work(home)
    (home.path / ".git/objects").chmod(0o555)
    outcome = await home.land(commit)
    (home.path / ".git/objects").chmod(0o755)
    assert isinstance(outcome, Refused)
    assert outcome.reason == "rights"
