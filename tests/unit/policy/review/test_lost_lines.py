"""Which removed lines count as merged work that was undone."""

import pytest

from workflows.policy.review.diff_rules import AddedLines
from workflows.policy.review.lost_lines import lost_lines

KEY = b"ghp_" + b"a" * 36
MERGED = b'names = ["a", "x"]\n}\ndef area(width):\n'


def part(text: bytes, start: int = 1, path: str = "f") -> AddedLines:
    """Lines that stand together."""
    return AddedLines(path, start, text.removesuffix(b"\n"))


@pytest.mark.parametrize(
    ("removed", "added", "task", "lost"),
    [
        pytest.param(b"names", b"names = []\n", "", [1], id="another value"),
        pytest.param(b"all", b"", "", [1, 3], id="a file as it was before"),
        pytest.param(b"all", MERGED, "", [], id="moved"),
        pytest.param(b"names", b'    names = ["a", "x"]\n', "", [], id="indented"),
        pytest.param(b"names", b'names = ["a", "b", "x"]\n', "", [], id="both sides' values"),
        pytest.param(b"names", b"", 'drop `names = ["a", "x"]`', [], id="the task quotes it"),
        pytest.param(b"names", b"", "drop names", [1], id="the task does not quote it"),
        pytest.param(b"old", b"", "", [], id="was there at the first base"),
        pytest.param(b"other", b"", "", [], id="another file"),
    ],
)
def test_a_merged_line_is_lost_unless_it_is_elsewhere(
    removed: bytes, added: bytes, task: str, lost: list[int]
) -> None:
    """Field report G20."""
    parts = {
        b"names": [part(b'names = ["a", "x"]')],
        b"all": [part(MERGED)],
        b"old": [part(b"an old line", 9)],
        b"other": [part(b'names = ["a", "x"]', 1, "g")],
    }[removed]
    new = [part(added)] if added else []
    found = lost_lines([part(MERGED)], parts, new, task)
    assert [f"line {number} of" in each.text for number, each in zip(lost, found, strict=True)] == [
        True
    ] * len(lost)
    assert {(each.rule, each.path) for each in found} <= {("lost-line", "f")}


def test_the_line_is_named_but_never_a_key() -> None:
    lines = [part(b"x = 1\ny = '" + KEY + b"'")]
    first, second = lost_lines(lines, lines, [], "")
    assert "'x = 1'" in first.text
    assert "a line that looks like a key" in second.text
    assert KEY.decode() not in second.text
