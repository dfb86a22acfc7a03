"""Patches as text: read whole or refused with the place, whatever is sent."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.toolset.patch_format import FileChange, Hunk, PatchError, parse_patch


def enveloped(*lines: str) -> str:
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch"])


def test_every_kind_of_change_is_read():
    text = enveloped(
        "*** Add File: new/a.txt",
        "+one",
        "+",
        "*** Delete File: old.txt",
        "*** Update File: src/a.py",
        "*** Move to: src/b.py",
        "@@ class A:",
        "@@     def f(self):",
        "         x = 1",
        "-        return x",
        "+        return 2 * x",
        "",
        "         # end",
        "@@",
        "-last",
        "*** End of File",
    )
    assert parse_patch(text) == (
        FileChange("add", "new/a.txt", content="one\n\n"),
        FileChange("delete", "old.txt"),
        FileChange(
            "update",
            "src/a.py",
            "src/b.py",
            hunks=(
                Hunk(
                    ("class A:", "    def f(self):"),
                    (
                        (" ", "        x = 1"),
                        ("-", "        return x"),
                        ("+", "        return 2 * x"),
                        (" ", ""),
                        (" ", "        # end"),
                    ),
                ),
                Hunk((), (("-", "last"),), at_end=True),
            ),
        ),
    )


SIMPLE = enveloped("*** Update File: a", "@@", "-x", "+y")
READ = (FileChange("update", "a", hunks=(Hunk((), (("-", "x"), ("+", "y"))),)),)


@pytest.mark.parametrize(
    "text",
    [
        SIMPLE,
        f"\n{SIMPLE}\n\n",
        f"<<'EOF'\n{SIMPLE}\nEOF",
        f"apply_patch <<EOF\n{SIMPLE}\nEOF\n",
        f"```diff\n{SIMPLE}\n```",
        SIMPLE.replace("\n", "\r\n"),
        enveloped("*** Update File: a", "-x", "+y"),
        enveloped("*** Update File: a", "@@ -1,2 +1,2 @@", "-x", "+y"),
        enveloped("*** Update File: a", "@@", "-x", "+y", ""),
    ],
    ids=range(9),
)
def test_the_usual_wrappings_are_read(text: str):
    assert parse_patch(text) == READ


def test_an_empty_file_may_be_added():
    assert parse_patch(enveloped("*** Add File: a")) == (FileChange("add", "a"),)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "a patch begins with"),
        ("--- a/x\n+++ b/x", "line 1 of the patch, '--- a/x': a patch begins with"),
        ("*** Begin Patch\n*** End Patch", "the patch is empty"),
        ("*** Begin Patch\n*** Update File: a\n@@\n-x", "is it cut?"),
        ("*** Begin Patch\n*** Add File: a\n+x", "is it cut?"),
        (f"{SIMPLE}\nand more", "nothing may follow"),
        (enveloped("*** Rename File: a"), "line 2 of the patch, '*** Rename File: a'"),
        (enveloped("*** Update File: "), "expected '*** Update File: PATH'"),
        (enveloped("*** Update File: a"), "has no hunk"),
        (enveloped("*** Update File: a", "*** Move to:"), "names no path"),
        (enveloped("*** Update File: a", "@@", "x"), "line 4 of the patch, 'x': a line of a hunk"),
        (enveloped("*** Update File: a", "@@", " x"), "neither adds nor removes"),
        (enveloped("*** Update File: a", "@@ x"), "neither adds nor removes"),
        (
            enveloped("*** Update File: a", "-x", "*** End of File", "-y"),
            "the next hunk begins with",
        ),
        (enveloped("*** Add File: a", "x"), "begins with '+'"),
        (enveloped("*** Delete File: a", "-x"), "expected '*** Update File: PATH'"),
    ],
)
def test_what_is_no_patch_is_told_with_its_place(text: str, says: str):
    with pytest.raises(PatchError) as caught:
        parse_patch(text)
    assert says in str(caught.value)


PIECES = st.sampled_from(
    [
        "*** Begin Patch",
        "*** End Patch",
        "*** End of File",
        "*** Add File: a",
        "*** Delete File: a",
        "*** Update File: a/b",
        "*** Move to: c",
        "@@",
        "@@ def f():",
        "@@ -1 +1 @@",
        " x",
        "-x",
        "+y",
        "",
        "<<EOF",
        "```",
        "\r",
    ]
)


@given(st.lists(PIECES | st.text(max_size=8), max_size=14).map("\n".join))
def test_any_text_is_read_or_refused_in_words(text: str):
    with contextlib.suppress(PatchError):
        assert parse_patch(text)


WORDS = st.text("abc +-@*\\ü", max_size=8)
NAMES = st.text("abc/.-_", min_size=1, max_size=8)
SIGNED = st.tuples(st.sampled_from(" +-"), WORDS)


HUNKS = st.builds(
    Hunk,
    st.lists(WORDS.map(str.rstrip).filter(bool), max_size=2).map(tuple),
    st.lists(SIGNED, min_size=1, max_size=5).map(lambda one: (*one, ("+", "z"))),
    st.booleans(),
)
CHANGES = st.one_of(
    st.builds(
        FileChange,
        st.just("add"),
        NAMES,
        content=st.lists(WORDS, max_size=3).map(lambda one: "".join(f"{line}\n" for line in one)),
    ),
    st.builds(FileChange, st.just("delete"), NAMES),
    st.builds(
        FileChange,
        st.just("update"),
        NAMES,
        st.none() | NAMES,
        hunks=st.lists(HUNKS, min_size=1, max_size=3).map(tuple),
    ),
)


def written(change: FileChange) -> list[str]:
    """Write a change as a patch has it."""
    lines = [f"*** {change.kind.title()} File: {change.path}"]
    lines += [f"+{line}" for line in change.content.split("\n")[:-1]]
    lines += [f"*** Move to: {change.move_to}"] if change.move_to else []
    for hunk in change.hunks:
        lines += [f"@@ {anchor}" for anchor in hunk.anchors] or ["@@"]
        lines += [sign + text for sign, text in hunk.lines]
        lines += ["*** End of File"] if hunk.at_end else []
    return lines


@given(st.lists(CHANGES, min_size=1, max_size=4).map(tuple))
def test_what_is_written_is_read_again(changes: tuple[FileChange, ...]):
    text = enveloped(*(line for change in changes for line in written(change)))
    assert parse_patch(text) == changes
