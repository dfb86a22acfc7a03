"""`file_names`: names of new files that other systems read as another name, or cannot hold."""

from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workflows.domain.violation import DiffLimits, DiffRule
from workflows.policy.review.diff_rules import ChangedFile, judge_files
from workflows.policy.review.file_names import length_fault, name_faults

TABLE = [
    # Field report G44.
    ("setup.py.", "ends in a dot or a space"),
    ("setup.py ", "ends in a dot or a space"),
    ("CON", "is a device on Windows"),
    ("a:b", "has a colon"),
    ("set\u200bup.py", "has characters that no one sees"),
    ("a/" * 1_883, "a path of 3766 bytes"),
    # Of the same kind.
    ("a./b", "ends in a dot or a space"),
    ("...", "ends in a dot or a space"),
    ("src/aux.c", "is a device on Windows"),
    ("nul .txt", "is a device on Windows"),
    ("COM\u00b9", "is a device on Windows"),
    ("CONOUT$", "is a device on Windows"),
    ("x.txt::$DATA", "has a colon"),
    ("a\u00adb", "has characters that no one sees"),
    ("\u3164", "has characters that no one sees"),
    ("a\u2800", "has characters that no one sees"),
    ("a\u00a0b", "has characters that no one sees"),
    ("a\u3000b", "has characters that no one sees"),
    ("a\u034fb", "has characters that no one sees"),
    ("a\U000e0041", "has characters that no one sees"),
    ("n" * 256, "a name of 256 bytes"),
    ("\u00e9" * 128, "a name of 256 bytes"),
]
FINE = [
    *("setup.py", "a b", "console.py", "auxiliary", "com10", "lpt", ".x", "caf\u00e9", "n" * 255),
    *("\u2764\ufe0f.md", "a'b\"c", "[id].tsx", "\u65e5\u672c\u8a9e"),
]


@pytest.mark.parametrize(("path", "text"), TABLE)
def test_such_a_name_is_a_finding(path: str, text: str):
    (found,) = name_faults([path], [path, "other"])
    assert text in found.text
    assert "\u200b" not in found.text


@pytest.mark.parametrize("path", FINE)
def test_such_a_name_is_none(path: str):
    assert not list(name_faults([path], [path]))


@pytest.mark.parametrize(
    ("there", "path", "count"),
    [
        ("t/a:b", "t/c:d", 0),
        ("t/Aux.c", "con.h", 0),
        ("a./x", "a./y", 0),
        ("a./x", "b./y", 1),
        ("a\u200bb/x", "a\u200bb/y", 0),
        ("a:b", "con", 1),
    ],
)
def test_what_the_base_has_is_known(there: str, path: str, count: int):
    """A project that has such names does not mind; one that another name hides behind, it does."""
    assert len(list(name_faults([path], [there, path]))) == count


@given(st.lists(st.text(st.characters(blacklist_characters="/\0"), min_size=1), min_size=1))
def test_any_name_is_judged(parts: list[str]):
    path = "/".join(parts)
    assert len(list(name_faults([path], [path]))) <= 1


def test_what_lands_can_be_started_from():
    """The check of a base and the check of new files share their bounds."""
    assert length_fault(b"n" * 255) is None
    assert length_fault(b"/".join([b"n" * 249] * 14)) is None
    assert length_fault(b"/".join([b"n" * 249] * 15)) == "a path of 3749"


@pytest.mark.parametrize(("status", "rules"), [("added", [DiffRule.NAME]), ("modified", [])])
def test_only_a_new_file_is_judged_by_its_name(
    status: Literal["added", "modified"], rules: list[DiffRule]
):
    change = ChangedFile(
        path="setup.py.", status=status, old_mode=None, mode="100644", size=3, is_binary=False
    )
    judged = judge_files([change], ["setup.py."], ("**",), lambda _: None, DiffLimits())
    assert [each.rule for each in judged.violations] == rules
