"""`policy.text.visible_text`: what each place must not show as it is."""

import pytest

from workflows.policy.text import visible_text
from workflows.policy.text.visible_text import Characters, escaped, replaced

SETS = {
    "terminal": visible_text.ON_A_TERMINAL,
    "output": visible_text.IN_PROGRAM_OUTPUT,
    "model": visible_text.IN_A_MODELS_INPUT,
    "file": visible_text.IN_A_FILE_NAME,
    "claim": visible_text.IN_A_CLAIM,
    "plan": visible_text.IN_A_PLAN,
}


@pytest.mark.parametrize(
    ("character", "places"),
    [
        ("a", ""),
        ("é", ""),
        ("語", ""),
        ("\n", "file claim"),
        ("\t", "file claim"),
        ("\r", "terminal output model file claim"),
        ("\x1b", "terminal output model file claim plan"),
        ("\x7f", "terminal output model file claim plan"),
        ("\x9b", "terminal output model file claim plan"),
        ("\u202e", "terminal output model file claim plan"),
        ("\u200f", "terminal output model file claim plan"),
        ("\u2028", "terminal output file claim plan"),
        ("\u200b", "terminal output claim plan"),
        ("\u00ad", "terminal output claim"),
        ("\u200d", "terminal claim"),
        ("\ud83d", "terminal output model claim"),
        ("\ue000", "terminal"),
        # Field report G48.
        *((blank, "terminal claim") for blank in "\u3164\u2800\u115f\uffa0\u034f\ufe00\U000e0100"),
        ("\ufe0f", ""),
    ],
)
def test_which_places_do_not_show_a_character_as_it_is(character: str, places: str):
    assert {name for name, unsafe in SETS.items() if character in unsafe} == set(places.split())


@pytest.mark.parametrize("unsafe", SETS.values(), ids=SETS)
def test_no_unsafe_character_is_left(unsafe: Characters):
    # Every character that any set could hold, among plain ones.
    text = "".join(map(chr, (*range(0x3200), *range(0xD7F0, 0xE010), 0xFEFF, 0xFFA0, 0xE0001)))
    spared = unsafe.less | unsafe.more
    for shown in (escaped(text, unsafe), replaced(text, unsafe, {"\x07": "\u2407"})):
        assert not any(character in unsafe for character in shown)
        assert "abc" in shown
        assert all(c in shown for c in spared if c not in unsafe)


def test_an_escape_shows_which_character_it_was():
    assert escaped("a\x1b[2Jb\u202ec\U000e0001", visible_text.ON_A_TERMINAL) == (
        "a\\x1b[2Jb\\u202ec\\U000e0001"
    )


def test_what_has_no_picture_becomes_a_replacement_character():
    shown = replaced("\x07\x85", visible_text.IN_A_MODELS_INPUT, {"\x07": "\u2407"})
    assert shown == "\u2407\ufffd"


@pytest.mark.parametrize("text", ["", " ", "\u3164", "\u2800\u2800", "\u0301", "\u200b\n"])
def test_a_text_that_shows_nothing(text: str):
    assert all(character in visible_text.SHOWING_NOTHING for character in text)
