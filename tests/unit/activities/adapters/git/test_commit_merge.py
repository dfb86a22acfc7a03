"""Merging without a worktree: what is clean, and every kind of conflict."""

from collections.abc import Callable
from pathlib import Path

import pytest

from activities.ports.merge_values import Conflict, Merged, MergePart
from tests.unit.activities.adapters.git.home import WHEN, Home, names, write
from workflows.domain.ids import Commit, Tree

Deed = Callable[[Path], object]


async def task(home: Home, name: str, deed: Deed) -> Commit:
    """A task's commit on the base."""
    place = (await home.host.create_worktree(name, home.base)).path
    deed(place)
    return await home.commit_work(name)


def parts(*commits: Commit) -> tuple[MergePart, ...]:
    """Parts with a message each."""
    return tuple(MergePart(commit=commit, message=f"Merge {n}") for n, commit in enumerate(commits))


def move_folder(place: Path) -> None:
    """Move `d/` to `e/`."""
    (place / "d").rename(place / "e")


def link(place: Path) -> None:
    """Make `link` a symlink."""
    (place / "link").symlink_to("f")


BASE: dict[str, str | bytes] = {"f": "1\n2\n3\n4\n5\n6\n7\n8\n", "d/x": "x\n" * 9, "d/y": "y\n" * 9}
SILENT: list[tuple[str, Deed, Deed]] = [
    (
        "modify/delete",
        lambda place: (place / "f").unlink(),
        lambda place: write(place, {"f": "changed\n"}),
    ),
    ("directory rename suggested", move_folder, lambda place: write(place, {"d/new": "n\n"})),
    (
        "rename/rename",
        lambda place: (place / "f").rename(place / "g"),
        lambda place: (place / "f").rename(place / "h"),
    ),
    (
        "file/directory",
        lambda place: write(place, {"conf/x": "x\n"}),
        lambda place: write(place, {"conf": "x\n"}),
    ),
    ("distinct modes", link, lambda place: write(place, {"link": "a file\n"})),
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("kind", "left", "right"), SILENT, ids=[case[0] for case in SILENT])
async def test_conflicts_without_markers_are_conflicts(
    home: Home, kind: str, left: Deed, right: Deed
):
    """Field report R15."""
    home.make(BASE)
    await home.start()
    first, second = await task(home, "a", left), await task(home, "b", right)
    for one, other in ((first, second), (second, first)):
        outcome = await home.host.merge(home.base, parts(one, other), WHEN)
        assert isinstance(outcome, Conflict)
        assert (outcome.head, outcome.commit) == (one, other)
        assert kind in outcome.kinds
        assert outcome.paths
        assert outcome.messages


async def test_a_textual_conflict_names_file_and_kind(home: Home):
    home.make(BASE)
    await home.start()
    first = await task(home, "a", lambda place: write(place, {"f": "left\n"}))
    second = await task(home, "b", lambda place: write(place, {"f": "right\n"}))
    outcome = await home.host.merge(home.base, parts(first, second), WHEN)
    assert isinstance(outcome, Conflict)
    assert (outcome.kinds, outcome.paths) == (("contents",), ("f",))


async def test_forwards_where_it_can_and_merges_where_it_must(home: Home):
    home.make(BASE)
    await home.start()
    first = await task(home, "a", lambda place: write(place, {"f": "0\n1\n2\n3\n4\n5\n6\n7\n8\n"}))
    second = await task(home, "b", lambda place: (place / "f").chmod(0o755))
    third = await task(home, "c", lambda place: write(place, {"n": "new\n"}))
    outcome = await home.host.merge(home.base, parts(first, second, third), WHEN)
    assert isinstance(outcome, Merged)
    assert outcome.heads[0] == first
    assert home.tree(outcome.commit)["f"] == "100755"
    assert await home.host.read_file(outcome.commit, "f") == b"0\n1\n2\n3\n4\n5\n6\n7\n8\n"
    assert await home.host.merge(home.base, parts(first, second, third), WHEN) == outcome
    again = await home.host.merge(outcome.commit, parts(second), WHEN)
    assert isinstance(again, Merged)
    assert again.commit == outcome.commit
    assert await home.host.merge(home.base, (), WHEN) == Merged(
        commit=home.base, tree=Tree(home.run("rev-parse", "HEAD^{tree}")), heads=()
    )


async def test_merge_commits_have_both_parents_and_land(home: Home):
    home.make(BASE)
    await home.start()
    first = await task(home, "a", lambda place: write(place, {"m": "m\n"}))
    second = await task(home, "b", lambda place: write(place, {"n": "n\n"}))
    outcome = await home.host.merge(home.base, parts(first, second), WHEN)
    assert isinstance(outcome, Merged)
    await home.land(outcome.commit)
    shown = home.run("log", "-1", "--format=%P|%s|%an|%ae|%aI", outcome.commit)
    stamp = "Blue Flame|blueflame@localhost|2026-11-28T12:00:00+00:00"
    assert shown == f"{first} {second}|Merge 1|{stamp}"


async def test_five_entries_under_one_heading(home: Home):
    """Field report R46."""
    lines = "# Changes\n\n## Unreleased\n\n" + "".join(f"- slot {n}\n\n" for n in range(5))
    home.make({"CHANGELOG.md": lines, ".gitattributes": "*.md merge=union\n"})
    await home.start()
    commits: list[Commit] = []
    for number in range(5):
        old, new = f"- slot {number}\n", f"- slot {number}\n- entry {number}\n"
        text = lines.replace(old, new)
        commits.append(
            await task(
                home, f"t{number}x", lambda place, text=text: write(place, {"CHANGELOG.md": text})
            )
        )
    outcome = await home.host.merge(home.base, parts(*commits), WHEN)
    assert isinstance(outcome, Merged)
    merged = (await home.host.read_file(outcome.commit, "CHANGELOG.md") or b"").decode()
    assert [merged.count(f"- entry {number}\n") for number in range(5)] == [1] * 5
    assert merged.count("## Unreleased") == 1


async def test_the_repositorys_union_driver_does_not_hide_a_conflict(home: Home):
    """Field report R46."""
    home.make({"CHANGELOG.md": "## Unreleased\n", ".gitattributes": "*.md merge=union\n"})
    await home.start()
    first, second = [
        await task(
            home,
            name,
            lambda place, name=name: write(place, {"CHANGELOG.md": f"## Unreleased\n- {name}\n"}),
        )
        for name in ("a", "b")
    ]
    assert isinstance(await home.host.merge(home.base, parts(first, second), WHEN), Conflict)


MARKED = "a\n<<<<<<< ours\nb\n=======\nc\n>>>>>>> theirs\n"


async def test_markers_are_refused_and_underlines_are_not(home: Home):
    """Field report R46."""
    home.make({"docs/git.rst": f"Example\n=======\n\n{MARKED}", "a.txt": "one\n"})
    await home.start()
    heading = await task(
        home, "a", lambda p: write(p, {"new.rst": "Chapter\n=======\n", "a.txt": "x\n"})
    )
    edit = await task(
        home, "b", lambda p: write(p, {"docs/git.rst": f"Sample!\n=======\n\n{MARKED}more\n"})
    )
    marked = await task(home, "c", lambda p: write(p, {"c.txt": MARKED}))
    again = await task(home, "d", lambda p: write(p, {"docs/git.rst": MARKED + MARKED}))
    outcome = await home.host.merge(home.base, parts(heading, edit), WHEN)
    assert isinstance(outcome, Merged)
    for head, bad, path in (
        (outcome.commit, marked, "c.txt"),
        (home.base, again, "docs/git.rst"),
    ):
        refused = await home.host.merge(head, parts(bad), WHEN)
        assert isinstance(refused, Conflict)
        assert (refused.kinds, refused.paths) == (("markers",), (path,))


async def test_compares_commits(home: Home):
    home.make({"a.txt": "one\n", "mode.sh": "x\n", "old": "o\n" * 20, "bin": b"\0\1"})
    await home.start()

    def deed(place: Path) -> None:
        write(place, {"a.txt": "longer\n", "ünï.txt": "x", "bin": b"\0\2\3"})
        (place / "mode.sh").chmod(0o755)
        (place / "old").rename(place / "new")
        (place / "link").symlink_to("a.txt")

    commit = await task(home, "a", deed)
    patch = (await home.host.diff(home.base, commit)).decode()
    for piece in ("+longer", "new mode 100755", "rename from old", "Binary files", "ünï.txt"):
        assert piece in patch


async def test_reads_files_of_a_commit(home: Home):
    home.make({"a.txt": "one\n", "d/b": b"\0\xff", "odd[*].txt": "odd\n", "new\nline": "n"})
    (home.path / "link").symlink_to("a.txt")
    home.commit({})
    await home.start()
    expected = {
        "a.txt": b"one\n",
        "d/b": b"\0\xff",
        "odd[*].txt": b"odd\n",
        "new\nline": b"n",
        "link": b"a.txt",
        "d": None,
        "missing": None,
        "../a.txt": None,
        "odd*": None,
    }
    found = {path: await home.host.read_file(home.base, path) for path in expected}
    assert found == expected
    assert names(home.top / "host")
