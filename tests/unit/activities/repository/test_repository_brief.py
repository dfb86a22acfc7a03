"""The brief: short, the same bytes for the same tree, and harmless whatever the tree holds."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.repository.repository_brief import BRIEF_CHARACTERS, brief_of
from workflows.domain.gate import GateSpec

GATES = (GateSpec(name="pytest", argv=("python", "-m", "pytest", "-q")),)
FILES = {
    "AGENTS.md": b"Tabs, please.\r\nNo globals.\r\n",
    "Makefile": b"test:\n",
    "README.md": b"A shop.\n",
    "pyproject.toml": b"",
    "src/shop/cart.py": b"",
    "src/shop/deep/tax.py": b"",
    "src/run.sh": b"",
    "tests/test_cart.py": b"",
}


def test_it_tells_layout_languages_checks_and_what_the_repository_says():
    assert brief_of(FILES, GATES) == (
        "8 files: src/ (3), src/shop/ (2), tests/ (1), AGENTS.md, Makefile, README.md, "
        "pyproject.toml\n\n"
        "Languages: Python (3), Markdown (2), TOML (1), shell (1)\n\n"
        "Built by: pyproject.toml, Makefile\n"
        "Checks that all work must pass:\n- pytest: python -m pytest -q\n\n"
        "AGENTS.md:\nTabs, please.\nNo globals.\n\n"
        "README.md:\nA shop."
    )


def test_what_is_not_filled_stands_before_the_checks_and_is_cut():
    """Field reports R07 and R21."""
    unfilled = [f"submodule 'lib{number}' is empty in worktrees" for number in range(99)]
    text = brief_of({}, (), unfilled)
    before, _, rest = text.partition("\n\nsubmodule 'lib0' is empty in worktrees\n")
    assert before.endswith("Languages: none")
    shown, _, after = rest.partition("\n…\n\n")
    assert len(shown) < 500
    assert after.startswith("Checks: ")


def test_an_empty_repository_has_one_too():
    assert brief_of({}, ()) == (
        "0 files: \n\nLanguages: none\n\nChecks: none are configured, and none were found."
    )


@given(st.randoms(use_true_random=False))
def test_the_same_tree_has_the_same_bytes_in_any_order(chance: random.Random):
    mixed = list(FILES.items())
    chance.shuffle(mixed)
    assert brief_of(dict(mixed), GATES) == brief_of(FILES, GATES)


@pytest.mark.parametrize("content", [b"AGENTS.md", b"@AGENTS.md\n", b"./AGENTS.md", b"One.\n"])
def test_a_linked_document_appears_once(content: bytes):
    text = brief_of({"AGENTS.md": b"One.\n", "CLAUDE.md": content}, ())
    assert text.endswith("AGENTS.md:\nOne.")
    assert "CLAUDE.md:" not in text


def test_a_long_document_is_cut_at_a_line_and_says_so():
    rules = "".join(f"{number}. Be careful.\n" for number in range(1_000)).encode()
    text = brief_of({"AGENTS.md": rules}, ())
    said = text.partition("AGENTS.md begins (the whole has ")[2]
    assert said.startswith(f"{len(rules) - 1} characters; read it):\n0. Be careful.\n")
    assert said.endswith("Be careful.\n…")
    assert len(said) < 1_600


def test_many_folders_are_counted_and_not_listed():
    text = brief_of({f"package_{number:04}/x.py": b"" for number in range(2_000)}, ())
    layout = text.partition("\n")[0]
    listed = layout.count(" (1)")
    assert layout.startswith("2000 files: package_0000/ (1), package_0001/ (1), ")
    assert layout.endswith(f"(1), and {2_000 - listed} more entries")
    assert len(layout) < 1_000


NAMES = st.text(st.characters(codec="utf-8", exclude_characters="/"), min_size=1, max_size=30)
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)
DOCUMENTS = st.sampled_from(["AGENTS.md", "CLAUDE.md", "CONTRIBUTING.md", "README.md"])


@given(st.dictionaries(PATHS | DOCUMENTS, st.binary(max_size=9_000), max_size=12))
def test_no_tree_makes_it_long_or_harmful(files: dict[str, bytes]):
    text = brief_of(files, GATES)
    assert len(text) <= BRIEF_CHARACTERS
    assert "\x1b" not in text
    assert "\u202e" not in text
    text.encode()
