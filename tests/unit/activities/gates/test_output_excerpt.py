import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.gates.output_excerpt import MAX_EXCERPT_CHARS, excerpt, plain_lines


def test_a_short_output_stays_whole():
    assert excerpt("grün\n\tok\n".encode()) == "grün\n\tok"


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"\x1b[1;31mred\x1b[0m", "red"),
        (b"\x1b]0;title\x07text\x1b]8;;http://x\x1b\\link", "textlink"),
        (b"10%\r50%\r100%\ndone", "100%\ndone"),
        (b"a\r\nb\r\n", "a\nb"),
        (b"bell\x07 nul\x00 back\x08", "bell\\x07 nul\\x00 back\\x08"),
        ("right\u202eleft".encode(), "right\\u202eleft"),
        ("next\u0085line\u2028x".encode(), "next\\x85line\\u2028x"),
        ("👩‍💻 é".encode(), "👩‍💻 é"),
        (b"\xff\xfe broken", "\ufffd\ufffd broken"),
        ("cut: é".encode()[:-1], "cut:"),
    ],
)
def test_control_characters_are_harmless(raw: bytes, shown: str):
    assert excerpt(raw) == shown


def test_the_first_failure_and_the_end_are_preferred():
    passing = "".join(f"test number {n} passed without a word\n" for n in range(400))
    failure = "=== FAILURES ===\nthe very reason\n" + "detail\n" * 2_000
    text = excerpt((passing + failure + "1 failed in 3 s\n").encode())
    assert "the very reason" in text
    assert text.endswith("1 failed in 3 s")
    assert "… 400 lines left out …" in text


def test_without_a_known_failure_start_and_end_are_shown():
    lines = [f"line {n:05}" for n in range(5_000)]
    text = excerpt("\n".join(lines).encode())
    assert text.startswith("line 00000\n")
    assert text.endswith("line 04999")


def test_only_whole_lines_and_what_is_missing_is_counted():
    lines = [f"line {n:05}" for n in range(5_000)]
    shown = excerpt("\n".join(lines).encode()).split("\n")
    marker = next(line for line in shown if line.startswith("…"))
    assert all(line in lines for line in shown if line != marker)
    assert marker == f"… {5_000 - (len(shown) - 1)} lines left out …"


def test_a_long_line_is_cut_between_characters():
    text = excerpt(("x" * 559 + "e\u0301" * 100).encode())
    assert text == "x" * 559 + " …"


@given(st.binary(max_size=20_000) | st.text(max_size=20_000).map(str.encode))
def test_any_output_becomes_short_harmless_text(output: bytes):
    text = excerpt(output)
    assert len(text) <= MAX_EXCERPT_CHARS
    text.encode()
    odd = {char for char in text if unicodedata.category(char) in {"Cc", "Cf", "Zl", "Zp"}}
    assert odd <= {"\n", "\t", "\u200c", "\u200d"}


@given(
    st.lists(st.text(alphabet="ab =FAIL:\n", max_size=400), max_size=60), st.integers(1_000, 6_000)
)
def test_the_limit_holds_for_every_shape(parts: list[str], limit: int):
    assert len(excerpt("\n".join(parts).encode() * 3, limit=limit)) <= limit


def test_plain_lines_are_bounded():
    assert plain_lines("a\x1b[K\r\n" + "b" * 5_000) == ["a", "b" * 1_000]
