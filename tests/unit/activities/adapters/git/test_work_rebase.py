"""Earlier work on a new base: what is kept, and how conflicts stand in the files."""

from collections.abc import Callable
from pathlib import Path

import pytest

from activities.ports.merge_values import Merged, MergePart, Rebase, Rebased
from tests.unit.activities.adapters.git.home import WHEN, Home, write
from workflows.domain.ids import Commit

Deed = Callable[[Path], object]
LINES = "1\n2\n3\n4\n5\n6\n7\n8\n"
BASE: dict[str, str | bytes] = {"f": LINES, "d/x": "x\n" * 9, "bytes": b"\0\1\2" * 9}

SILENT: list[tuple[Deed, Deed, tuple[str, str]]] = [
    (
        lambda place: (place / "f").unlink(),
        lambda place: write(place, {"f": "mine\n"}),
        ("f", "mine"),
    ),
    (
        lambda place: write(place, {"f": "theirs\n"}),
        lambda place: (place / "f").unlink(),
        ("f", "theirs"),
    ),
    (
        lambda place: write(place, {"bytes": b"\0theirs"}),
        lambda place: write(place, {"bytes": b"\0mine", "g": "mine\n"}),
        ("g", "mine"),
    ),
    (
        lambda place: (place / "f").rename(place / "elsewhere"),
        lambda place: write(place, {"f": LINES.replace("8", "mine")}),
        ("f", LINES.replace("8", "mine").strip()),
    ),
    (
        lambda place: write(place, {"conf": "a file\n"}),
        lambda place: write(place, {"conf/x": "in a folder\n"}),
        ("conf", "a file"),
    ),
    (
        lambda place: write(place, {"conf/x": "in a folder\n"}),
        lambda place: write(place, {"conf": "a file\n"}),
        ("conf/x", "in a folder"),
    ),
]


async def made(home: Home, name: str, deed: Deed) -> Commit:
    """A task's commit on the base."""
    place = (await home.host.create_worktree(name, home.base)).path
    deed(place)
    return await home.commit_work(name)


async def rebased(home: Home, other: Deed, own: Deed) -> Rebased:
    """Own work brought onto the base with the other's work merged."""
    home.make(BASE)
    await home.start()
    merged, work = await made(home, "other", other), await made(home, "own", own)
    request = Rebase(base=merged, work=work, work_base=home.base, message="Own work", when=WHEN)
    done = await home.host.rebase(request)
    assert done == await home.host.rebase(request), "the same request makes the same commit"
    if done.commit != merged:
        assert home.of_host("rev-parse", f"{done.commit}^@") == merged
    return done


def content(home: Home, done: Rebased, path: str = "f") -> str:
    """A file of the result."""
    return home.of_host("show", f"{done.commit}:{path}")


async def test_work_that_merges_cleanly_is_one_commit_on_the_new_base(home: Home):
    done = await rebased(
        home,
        lambda place: write(place, {"f": LINES.replace("1", "one"), "new": "theirs\n"}),
        lambda place: write(place, {"f": LINES.replace("8", "eight")}),
    )
    assert (done.paths, done.messages) == ((), ())
    assert content(home, done) == LINES.replace("1", "one").replace("8", "eight").strip()
    assert content(home, done, "new") == "theirs"
    assert home.of_host("diff", "--name-only", f"{done.commit}^", done.commit) == "f"


async def test_a_conflict_is_marked_in_the_file_with_names_for_the_sides(home: Home):
    done = await rebased(
        home,
        lambda place: write(place, {"f": LINES.replace("4", "four")}),
        lambda place: write(place, {"f": LINES.replace("4", "quattro"), "mine": "mine\n"}),
    )
    assert done.paths == ("f",)
    assert content(home, done) == (
        "1\n2\n3\n<<<<<<< merged work\nfour\n=======\nquattro\n>>>>>>> your earlier work\n"
        "5\n6\n7\n8"
    )
    assert content(home, done, "mine") == "mine"
    assert done.messages == ("f: both sides changed the same lines; conflict markers show them",)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("other", "own", "kept"),
    SILENT,
    ids=["deleted", "deletes", "bytes", "renamed", "file and folder", "folder and file"],
)
async def test_a_conflict_without_markers_keeps_a_side_and_is_reported(
    home: Home, other: Deed, own: Deed, kept: tuple[str, str]
):
    done = await rebased(home, other, own)
    path, text = kept
    assert content(home, done, path) == text
    assert len(done.paths) == len(done.messages) == 1


async def test_a_folder_of_others_renamed_keeps_the_work_where_the_claims_are(home: Home):
    done = await rebased(
        home,
        lambda place: (place / "d").rename(place / "e"),
        lambda place: write(place, {"d/new": "mine\n"}),
    )
    assert content(home, done, "d/new") == "mine"
    assert done.paths == ()


async def test_a_folder_that_the_work_made_a_file_is_one(home: Home):
    def own(place: Path) -> None:
        (place / "d" / "x").unlink()
        (place / "d").rmdir()
        write(place, {"d": "mine\n"})

    done = await rebased(home, lambda place: write(place, {"g": "theirs\n"}), own)
    assert content(home, done, "d") == "mine"
    assert done.paths == ()


async def test_a_mode_and_a_content_changed_by_two_are_both_kept(home: Home):
    done = await rebased(
        home,
        lambda place: (place / "f").chmod(0o755),
        lambda place: write(place, {"f": "mine\n"}),
    )
    assert content(home, done) == "mine"
    assert home.tree(done.commit)["f"] == "100755"
    assert done.paths == ()


async def test_a_dependency_that_was_reworked_does_not_come_back(home: Home):
    """The work's base holds a dependency's first commit; the new base holds its second."""
    home.make(BASE)
    await home.start()
    first = await made(home, "dep1", lambda place: write(place, {"dep": "first\n"}))
    second = await made(home, "dep2", lambda place: write(place, {"dep": "second\n"}))
    part = MergePart(commit=first, message="Base")
    base = await home.host.merge(home.base, (part,), WHEN)
    assert isinstance(base, Merged)
    home.base = base.commit
    work = await made(home, "own", lambda place: write(place, {"f": "mine\n"}))
    request = Rebase(base=second, work=work, work_base=first, message="Own", when=WHEN)
    done = await home.host.rebase(request)
    assert done.paths == ()
    assert content(home, done, "dep") == "second"
    assert content(home, done) == "mine"


async def test_work_that_is_merged_already_leaves_an_empty_commit(home: Home):
    def deed(place: Path) -> None:
        write(place, {"f": "same\n"})

    done = await rebased(home, deed, deed)
    assert done.paths == ()
    assert home.of_host("diff", "--name-only", f"{done.commit}^", done.commit) == ""
