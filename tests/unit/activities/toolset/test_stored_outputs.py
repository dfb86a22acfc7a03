from hypothesis import given
from hypothesis import strategies as st

from activities.toolset.stored_outputs import digest_in, folded, handle_of, page
from workflows.domain.ids import Digest

DIGEST = Digest("0123456789abcdef" * 4)


def test_a_handle_names_its_digest_and_nothing_else_does():
    assert digest_in(handle_of(DIGEST)) == DIGEST
    assert digest_in(f" output:{DIGEST}\n") == DIGEST
    assert digest_in(f"output/{DIGEST}") is None
    assert digest_in(f"output:{DIGEST}/x") is None


def test_pages_follow_each_other_to_the_end():
    output = b"".join(b"line %d\n" % number for number in range(1, 2_001))
    seen: list[str] = []
    while len(seen) < 2_000:
        *shown, more = page(output, len(seen) + 1, 2_000).split("\n")
        assert sum(map(len, shown)) < 9_000
        assert more.startswith(f"(lines {len(seen) + 1} to {len(seen) + len(shown)} of 2000")
        seen += [line.partition("\t")[2] for line in shown]
    assert seen == [f"line {number}" for number in range(1, 2_001)]
    assert page(output, 2_001, 1) == "(the output has 2000 lines; offset 2001 is past the end)"


def test_one_endless_line_is_folded_and_harmless():
    output = b"\x1b[31m" + b"x" * 4_500
    assert [len(line) for line in folded("x" * 4_500)] == [2_000, 2_000, 500]
    assert page(output, 3, 1) == f"     3\t{'x' * 500}\n(lines 3 to 3 of 3)"


@given(st.text("ab\n", max_size=200))
def test_folding_loses_nothing(text: str):
    assert "\n".join(folded(text)) == text.removesuffix("\n")
