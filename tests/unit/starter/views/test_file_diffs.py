"""Diffs by file: names, line numbers, two columns, and what became of comments."""

import pytest

from starter.views.file_diffs import became, by_file, fate, ranges, side_by_side
from workflows.domain.line_comment import LineComment

DIFF = """\
diff --git a/src/a.py b/src/a.py
index 1..2 100644
--- a/src/a.py
+++ b/src/a.py
@@ -10,4 +10,5 @@ def f():
 one
-two
+zwei
+drei
 four
 five
diff --git a/gone.txt b/gone.txt
deleted file mode 100644
--- a/gone.txt
+++ /dev/null
@@ -1 +0,0 @@
-last
"""
ODD = """\
diff --git "a/\\303\\274 \\"x\\".txt" "b/\\303\\274 \\"x\\".txt"
--- "a/\\303\\274 \\"x\\".txt"
+++ "b/\\303\\274 \\"x\\".txt"
@@ -0,0 +1 @@
+-- a/not a header
diff --git a/two words b/two words
--- a/two words\t
+++ b/two words\t
@@ -1 +1 @@
-a
+b
\\ No newline at end of file
diff --git a/run.sh b/run.sh
old mode 100644
new mode 100755
diff --git a/old b/new
similarity index 100%
rename from old
rename to new
"""


def test_each_file_has_its_lines_with_the_numbers_of_the_new_file() -> None:
    first, gone = by_file(DIFF)
    assert (first.path, gone.path) == ("src/a.py", "gone.txt")
    assert first.lines == {10: "one", 11: "zwei", 12: "drei", 13: "four", 14: "five"}
    assert gone.lines == {}
    assert first.text + gone.text == DIFF


def test_quoted_names_mode_changes_and_renames_have_their_path() -> None:
    assert [each.path for each in by_file(ODD)] == ['ü "x".txt', "two words", "run.sh", "new"]
    assert by_file(ODD)[0].lines == {1: "-- a/not a header"}
    assert by_file(ODD)[1].lines == {1: "b"}


def test_side_by_side_pairs_old_and_new_lines() -> None:
    assert side_by_side(DIFF, 40)[:7] == [
        "src/a.py",
        "--------",
        "  10 one           |   10 one",
        "  11 two           |   11 zwei",
        "                   |   12 drei",
        "  12 four          |   13 four",
        "  13 five          |   14 five",
    ]


def test_side_by_side_keeps_its_width_and_shows_no_control_characters() -> None:
    hostile = DIFF.replace("drei", "\u001b[2J" + "x" * 200)
    told = side_by_side(hostile, 60)
    assert max(map(len, told)) <= 60
    assert "\u001b" not in "".join(told)


@pytest.mark.parametrize(
    ("numbers", "told"), [([], ""), ([3], "3"), ([1, 2, 3, 7, 9, 8], "1-3, 7-9")]
)
def test_line_numbers_are_told_as_ranges(numbers: list[int], told: str) -> None:
    assert ranges(numbers) == told


@pytest.mark.parametrize(
    ("path", "quote", "attempt", "kind", "said"),
    [
        ("src/a.py", "zwei", 1, "no_later_attempt", "no later attempt yet"),
        ("src/a.py", "zwei", 2, "unchanged", "the line is as it was, at 11"),
        ("src/a.py", "due", 2, "changed", "the line was changed or removed"),
        ("src/a.py", "", 2, "changed", "the line was changed or removed"),
        ("other.py", "zwei", 2, "file_gone", "the file is not in the diff any more"),
    ],
)
def test_a_later_diff_tells_what_became_of_a_comment(
    path: str, quote: str, attempt: int, kind: str, said: str
) -> None:
    comment = LineComment(path=path, line=9, text="in words", quote=quote, attempt=1)
    found = fate(comment, attempt, DIFF)
    assert (found.kind, found.line) == (kind, 11 if kind == "unchanged" else None)
    assert became(comment, found) == f"  {path}:9 (attempt 1)  in words -> {said}"
