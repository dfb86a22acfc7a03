"""What a diff adds: files with modes and sizes, lines with their numbers."""

import os

from activities.adapters.git.added_lines import read_added
from tests.unit.activities.adapters.git.home import Home, write
from workflows.policy.review.diff_rules import AddedLines, ChangedFile


async def test_files_with_modes_sizes_and_whether_they_are_binary(home: Home):
    home.make({"a.txt": "one\n", "gone": "x\n", "b.sh": "x\n"})
    place = await home.start()
    write(
        place, {"a.txt": "two\n", "new.bin": b"\0\1\2", "t\u00e4st \n.txt".replace("\n", ""): "x\n"}
    )
    (place / "gone").unlink()
    os.chmod(place / "b.sh", 0o755)
    commit = await home.commit_work()
    assert await home.host.changed_files(home.base, commit) == (
        ChangedFile("a.txt", "modified", "100644", "100644", 4, is_binary=False),
        ChangedFile("b.sh", "modified", "100644", "100755", 2, is_binary=False),
        ChangedFile("gone", "deleted", "100644", None, 0, is_binary=False),
        ChangedFile("new.bin", "added", None, "100644", 3, is_binary=True),
        ChangedFile("t\u00e4st .txt", "added", None, "100644", 2, is_binary=False),
    )


async def test_lines_with_their_numbers(home: Home):
    home.make({"a": "1\n2\n3\n4\n5\n", "no-end": "x", "kept": "x\n", "link": "x\n"})
    place = await home.start()
    write(
        place, {"a": "1\nnew\n3\n4\n5\n6\n7", "no-end": "y", 'quo"ted': "diff --git a b\n+++ c\n"}
    )
    (place / "link").unlink()
    (place / "link").symlink_to("a")
    commit = await home.commit_work()
    assert await home.host.added_lines(home.base, commit) == (
        AddedLines("a", 2, b"new"),
        AddedLines("a", 6, b"6\n7"),
        AddedLines("link", 1, b"a"),
        AddedLines("no-end", 1, b"y"),
        AddedLines('quo"ted', 1, b"diff --git a b\n+++ c"),
    )


async def test_where_a_file_was_changed(home: Home):
    home.make({"a": "1\n2\n3\n4\n5\n6\n", "same": "x\n", "old": "1\n2\n", "cut": "1\n2\n"})
    place = await home.start()
    write(place, {"a": "new\n2\n4\n5\n6\n@@ -1 +1 @@\n", "new [x]": "1\n2\n", "cut": "2\n"})
    (place / "old").rename(place / "moved")
    commit = await home.commit_work()
    ranges = {
        path: await home.host.changed_lines(home.base, commit, path)
        for path in ("a", "same", "new [x]", "old", "moved", "cut", "absent")
    }
    assert ranges == {
        "a": ((1, 1), (2, 3), (6, 6)),  # 3 was taken away between the new lines 2 and 3
        "same": (),
        "new [x]": ((1, 2),),
        "old": ((0, 1),),
        "moved": ((1, 2),),
        "cut": ((0, 1),),
        "absent": (),
    }


async def test_nothing_changed_adds_nothing(home: Home):
    home.make({"a": "1\n"})
    await home.start()
    assert await home.host.changed_files(home.base, home.base) == ()
    assert await home.host.added_lines(home.base, home.base) == ()


def test_the_mark_of_a_missing_line_end_is_not_a_line():
    patch = (
        b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n"
        b"+b\n\\ No newline at end of file\n"
    )
    assert list(read_added(patch, [b"x"])) == [AddedLines("x", 1, b"b")]
