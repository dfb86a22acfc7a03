import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.toolset.observations import WHOLE_CHARACTERS, decoded, harmless, shown


@pytest.mark.parametrize(
    ("output", "text"),
    [
        (b"\x1b[31mred\x1b[0m", "red"),
        (b"\x1b]0;title\x07x\x1b]8;;http://a\x1b\\y", "xy"),
        (b"\x1b[2J\x1b[1;1Hx\x1bc", "x"),
        (b"\x1bP1;2|stuff\x1b\\x", "x"),
        (b"10%\r50%\r100%\r\nnext", "100%\nnext"),
        (b"a\r\nb\r\n", "a\nb\n"),
        (b"bell\x07 nul\x00 del\x7f", "bell\u2407 nul\u2400 del\u2421"),
        (b"\x1b", "\u241b"),
        (b"caf\xe9", "caf\ufffd"),
        ("a\u202eb\u2066c\x9bd".encode(), "a\ufffdb\ufffdc\ufffdd"),
        ("tab\tgrün 😀\n".encode(), "tab\tgrün 😀\n"),
    ],
)
def test_terminal_control_is_made_harmless(output: bytes, text: str):
    assert decoded(output) == text


@given(st.binary())
def test_no_output_leaves_control_or_surrogates(output: bytes):
    text = decoded(output)
    text.encode()
    assert not [
        one for one in text if unicodedata.category(one) in ("Cc", "Cs") and one not in "\t\n"
    ]


def test_a_lone_surrogate_is_replaced():
    assert harmless("ok \ud83d end") == "ok \ufffd end"


def test_up_to_the_limit_it_is_whole():
    assert shown(b"x" * WHOLE_CHARACTERS).text("blob", 0) == "x" * WHOLE_CHARACTERS
    assert not shown(b"x" * WHOLE_CHARACTERS).is_cut


@pytest.mark.parametrize("count", [WHOLE_CHARACTERS + 1, 99_999, 1_000_000])
def test_beyond_it_both_ends_are_kept(count: int):
    output = b"A" + b"x" * (count - 2) + b"Z"
    seen = shown(output)
    assert (len(seen.head), len(seen.tail)) == (5000, 5000)
    text = seen.text("output:12", len(output))
    assert text.startswith("Ax")
    assert text.endswith("xZ")
    assert f"the middle of {count} bytes is left out. See more: read with path 'output:12'" in text


@pytest.mark.parametrize("size", [300_000, 2_000_000])
@pytest.mark.parametrize("shift", [0, 1, 2, 3])
def test_a_cut_splits_no_character(size: int, shift: int):
    """Field report R09."""
    seen = shown(b"x" * shift + "😀".encode() * (size // 4))
    assert seen.is_cut
    assert "\ufffd" not in seen.head
    assert "\ufffd" not in seen.tail[1:]


def test_a_mark_stays_with_its_letter():
    seen = shown(("e\u0301" * 10_000).encode())
    assert not unicodedata.combining(seen.tail[0])
    odd = shown(("x" + "e\u0301" * 10_000).encode())
    assert odd.head.endswith("\u0301")
