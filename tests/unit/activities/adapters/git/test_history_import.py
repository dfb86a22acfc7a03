"""The base on its way to the host: only what is missing, whole or not at all, nothing executed."""

import os
import random
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from activities.adapters.git.git_bundle import parse
from activities.adapters.git.host_git import GitHostRepository, Seams
from activities.adapters.git.user import pack_hand_over
from activities.adapters.git.user.branch_landing import GitUserRepository
from activities.adapters.git.user.history_depth import LargeHistory
from activities.ports.git_errors import GitCommandError, PartialCloneError, PrerequisiteMissingError
from activities.ports.history_values import HistoryImport, HistoryPart
from activities.ports.user_repository import HandOver
from tests.unit.activities.adapters.git.home import SESSION, Home, ToldGit, fingerprint, plain_git
from workflows.domain.ids import Commit, SessionId

LATER = SessionId("s2")
ARRIVED = f"refs/blueflame/{LATER}/arrived"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path)
    made.make({"large": random.Random(1).randbytes(300_000), "a.txt": "one\n"})
    return made


def bare_of(home: Home) -> Path:
    return home.top / "host" / "repositories" / f"{'k' * 32}.git"


async def bring(home: Home, session: SessionId = LATER) -> None:
    """Bring the base straight from the person's repository into the host's."""
    known = (await home.host.await_base(home.base)).known
    await home.user.bring(home.path, HistoryPart(home.base, known), bare_of(home))
    await home.host.import_base(HistoryImport(home.base, session))


def packs(home: Home) -> set[Path]:
    return set((bare_of(home) / "objects" / "pack").glob("*.pack"))


async def test_only_what_is_missing_is_sent(home: Home):
    await home.import_base()
    first, before = home.base, packs(home)
    home.commit({"a.txt": "two\n"})
    waiting = await home.host.await_base(home.base)
    assert (waiting.is_there, waiting.known) == (False, (first,))
    with tempfile.TemporaryFile() as file:
        await home.user.send(home.path, HistoryPart(home.base, waiting.known), file.fileno())
        file.seek(0)
        bundle = parse(file.read())
    assert bundle.needs == (first,)
    assert len(bundle.pack) < 2_000
    await bring(home)
    (added,) = packs(home) - before
    assert added.stat().st_size < 2_000
    home.of_host("fsck", "--strict", "--connectivity-only")
    assert home.of_host("for-each-ref", "--format=%(refname)").splitlines() == [
        f"refs/blueflame/{SESSION}/base",
        f"refs/blueflame/{LATER}/base",
    ]


async def test_the_merged_work_of_a_session_counts_as_known(home: Home):
    place = await home.start()
    (place / "a.txt").write_text("two\n")
    commit = await home.commit_work()
    await home.land(commit)
    assert (await home.host.await_base(commit)).is_there
    await home.host.import_base(HistoryImport(commit, LATER))
    assert await home.host.tip(f"refs/blueflame/{LATER}/base") == commit


async def test_nothing_of_the_persons_repository_is_executed_or_written(home: Home):
    home.commit({"a.txt": "two\n"})
    home.run("tag", "v1", "HEAD~1")
    trap, mark = home.top / "trap", home.top / "executed"
    trap.write_text(f"#!/bin/sh\ntouch {mark}\ncat\n")
    trap.chmod(0o755)
    for name in ("post-checkout", "reference-transaction", "pre-auto-gc", "post-index-change"):
        shutil.copy(trap, home.path / ".git" / "hooks" / name)
    for name in (
        *("core.fsmonitor", "core.sshCommand", "core.pager", "uploadpack.packObjectsHook"),
        *("filter.trap.clean", "filter.trap.smudge", "diff.trap.textconv", "alias.pack-objects"),
        *("core.gitProxy", "core.alternateRefsCommand", "credential.helper"),
    ):
        home.run("config", name, str(trap))
    home.run("config", "remote.origin.url", f"ext::{trap}")
    home.run("config", "remote.origin.promisor", "true")
    (home.path / ".git/info/attributes").write_text("* filter=trap diff=trap\n")
    home.user = GitUserRepository(home.git, home.person, LargeHistory(0, 1))
    before = fingerprint(home.path)
    await home.import_base(depth="auto", directly=True)
    await bring(home)
    assert fingerprint(home.path) == before
    assert not mark.exists()


async def test_borrowed_objects_are_copied(home: Home):
    borrower = Home(home.top / "second")
    borrower.top.mkdir()
    plain_git(home.top, "clone", "-q", "--shared", str(home.path), str(borrower.path))
    borrower.base = home.base
    await borrower.import_base()
    await bring(borrower)
    shutil.rmtree(home.path)
    assert await borrower.host.read_file(borrower.base, "a.txt") == b"one\n"
    assert not (bare_of(borrower) / "objects/info/alternates").exists()


async def test_a_path_may_hold_what_separates_paths(home: Home):
    strange = Home(home.top / 'a:b"c\\d')
    strange.top.mkdir()
    shutil.copytree(home.path, strange.path)
    strange.base = home.base
    await bring(strange)
    strange.of_host("fsck", "--strict")


async def test_a_packed_history_brings_no_other_branch(home: Home):
    home.run("switch", "-qc", "other")
    home.commit({"secret": "of another branch\n"})
    other = home.base
    home.run("switch", "-q", "-")
    home.base = Commit(home.run("rev-parse", "HEAD"))
    home.run("repack", "-adq")
    await bring(home)
    home.of_host("fsck", "--strict")
    with pytest.raises(subprocess.CalledProcessError):
        home.of_host("cat-file", "-e", other)


async def test_a_host_that_cannot_store_is_not_blamed_on_the_history(home: Home):
    known = (await home.host.await_base(home.base)).known
    packs = bare_of(home) / "objects" / "pack"
    packs.rmdir()
    packs.touch()
    with pytest.raises(GitCommandError, match="pack"):
        await home.user.bring(home.path, HistoryPart(home.base, known), bare_of(home))


def handing(home: Home) -> HandOver:
    return HandOver(home.top, home.top / "incoming", os.getuid(), os.getgid())


async def test_a_repository_of_another_user_is_handed_whole_packs(home: Home):
    known = (await home.host.await_base(home.base)).known
    half = home.top / "incoming" / bare_of(home).name / "pack" / "half"
    half.parent.mkdir(parents=True)
    half.touch()  # of a process that was killed
    assert pack_hand_over.is_possible(handing(home), bare_of(home))
    await home.user.bring(home.path, HistoryPart(home.base, known), bare_of(home), handing(home))
    await home.host.import_base(HistoryImport(home.base, LATER))
    home.of_host("fsck", "--strict")
    assert not (bare_of(home) / "objects/pack/half").exists()
    assert [path.suffix for path in (home.top / "incoming").iterdir()] == [".lock"]


async def test_no_link_leads_a_hand_over_elsewhere(home: Home):
    await home.host.await_base(home.base)
    elsewhere, objects = home.top / "elsewhere", bare_of(home) / "objects"
    (elsewhere / "pack").mkdir(parents=True)
    for link, target in ((objects / "pack", elsewhere / "pack"), (objects, elsewhere)):
        shutil.rmtree(link)
        link.symlink_to(target)
        assert not pack_hand_over.is_possible(handing(home), bare_of(home))
        with pytest.raises(NotADirectoryError):
            await home.user.bring(home.path, HistoryPart(home.base), bare_of(home), handing(home))
        assert list((elsewhere / "pack").iterdir()) == []


@pytest.mark.parametrize("is_direct", [True, False])
async def test_a_host_that_lost_what_it_had_is_sent_the_whole(home: Home, is_direct: bool):
    await home.import_base()
    home.commit({"a.txt": "two\n"})
    known = (await home.host.await_base(home.base)).known
    shutil.rmtree(home.top / "host")
    await home.host.await_base(home.base)
    asked = HistoryImport(home.base, LATER)
    with tempfile.TemporaryFile() as file:
        if is_direct:
            await home.user.bring(home.path, HistoryPart(home.base), bare_of(home))
            for place in packs(home):
                place.unlink()
        else:
            await home.user.send(home.path, HistoryPart(home.base, known), file.fileno())
            asked = HistoryImport(home.base, LATER, bundle=file.fileno())
        with pytest.raises(PrerequisiteMissingError):
            await home.host.import_base(asked)
    assert not (await home.host.await_base(home.base)).is_there
    await home.import_base(LATER)
    home.of_host("fsck", "--strict", "--connectivity-only")


async def test_what_arrived_incomplete_never_becomes_a_base(home: Home):
    """The host says that it has a commit, and has lost the files of it."""
    first = home.base
    home.commit({"a.txt": "two\n"})
    await home.host.await_base(home.base)
    await home.user.bring(home.path, HistoryPart(home.base, (first,)), bare_of(home))
    with pytest.raises(PrerequisiteMissingError):
        await home.host.import_base(HistoryImport(home.base, LATER))
    assert await home.host.tip(f"refs/blueflame/{LATER}/base") is None
    assert not (await home.host.await_base(home.base)).is_there
    await home.import_base(LATER)
    assert await home.host.tip(ARRIVED) is None
    assert (await home.host.await_base(home.base)).is_there


class KilledError(Exception):
    """The process is dead."""


async def test_a_kill_between_name_and_check_leaves_the_check_to_be_done(home: Home):
    def die(name: str) -> None:
        if name == "after-arrival":
            raise KilledError

    host = GitHostRepository(home.git, home.top / "host", "k" * 32, Seams(fail_point=die))
    await host.await_base(home.base)
    await home.user.bring(home.path, HistoryPart(home.base), bare_of(home))
    with pytest.raises(KilledError):
        await host.import_base(HistoryImport(home.base, LATER))
    assert await home.host.tip(ARRIVED) == home.base
    assert not (await home.host.await_base(home.base)).is_there
    await bring(home)
    assert await home.host.tip(ARRIVED) is None
    assert await home.host.tip(f"refs/blueflame/{LATER}/base") == home.base


async def test_a_history_with_a_missing_object_leaves_nothing_on_the_host(home: Home):
    blob = home.run("rev-parse", f"{home.base}:a.txt")
    (home.path / ".git/objects" / blob[:2] / blob[2:]).unlink()
    await home.host.await_base(home.base)
    with pytest.raises(PartialCloneError, match="incomplete"):
        await home.user.bring(home.path, HistoryPart(home.base), bare_of(home))
    assert packs(home) == set()
    assert list((bare_of(home) / "objects/pack").glob("*.idx")) == []


async def test_commits_that_the_sender_lacks_are_left_out_of_account(home: Home):
    await home.host.await_base(home.base)
    await home.user.bring(home.path, HistoryPart(home.base, (Commit("1" * 40),)), bare_of(home))
    await home.host.import_base(HistoryImport(home.base, LATER))
    assert (await home.host.await_base(home.base)).is_there


async def test_a_base_and_an_older_one_import_at_once(home: Home):
    older = home.base
    home.commit({"a.txt": "two\n"})
    await bring(home)
    home.base = older
    assert (await home.host.await_base(older)).is_there
    await home.host.import_base(HistoryImport(older, SessionId("s3")))


async def test_a_known_base_is_compared_only_after_it_is_named(home: Home):
    await home.import_base()
    git = ToldGit()
    host = GitHostRepository(git, home.top / "host", "k" * 32)
    await host.import_base(HistoryImport(home.base, LATER))
    asked = [n for n, each in enumerate(git.told) if "--contains=" in each]
    named = [n for n, each in enumerate(git.told) if ARRIVED in each and "update-ref" in each]
    assert len(asked) == 1
    assert asked > named
