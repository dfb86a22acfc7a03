"""What a provider or a tool wrote becomes sendable, once."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.text.surrogates import clean, clean_json, clean_table


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("ok \ud83d end", "ok \ufffd end"),
        ("\udc00", "\ufffd"),
        ("\ud83d\ude00", "😀"),
        ("\ud83d\ud83d\ude00x", "\ufffd😀x"),
        ("😀é", "😀é"),
    ],
)
def test_clean(text: str, expected: str) -> None:
    assert clean(text) == expected


@given(st.text(alphabet=st.characters(codec=None, exclude_categories=())))
def test_clean_text_can_be_sent_and_is_settled(text: str) -> None:
    cleaned = clean(text)
    assert json.loads(json.dumps(cleaned)) == cleaned
    assert cleaned.encode().decode() == clean(cleaned)


def test_clean_json_reaches_keys_and_depths() -> None:
    assert clean_json({"\ud83d": [1, {"a": "\ud83d", "n": float("nan")}]}) == {
        "\ufffd": [1, {"a": "\ufffd", "n": None}]
    }


def test_a_nan_stays_where_the_caller_names_it_itself() -> None:
    kept = clean_table({"\ud83d": [float("inf"), "\ud83d\ude00"]}, keeps_nan=True)
    assert kept == {"\ufffd": [float("inf"), "😀"]}
