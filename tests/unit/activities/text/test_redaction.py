"""`activities.text.redaction`: known secrets in the forms in which they travel."""

import base64
import json
import re
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.text.redaction import KnownSecrets, redact_bytes

pytestmark = pytest.mark.fuzz

KEY = "canary/key+with=odd~signs"


@given(before=st.binary(max_size=7), after=st.binary(max_size=7))
def test_base64_of_a_longer_text_hides_nothing(before: bytes, after: bytes) -> None:
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        text = encode(before + KEY.encode() + after).decode()
        cleaned = KnownSecrets([KEY]).redact(text)
        assert "[key]" in cleaned
        rest = cleaned.split("[key]")
        assert sum(map(len, rest)) <= len(text) - len(KEY)


@pytest.mark.parametrize(
    "form", [KEY, quote(KEY, safe=""), KEY.encode().hex(), KEY.encode().hex().upper()]
)
def test_each_form_goes(form: str) -> None:
    assert KnownSecrets(["other-key", KEY]).redact(f"<{form}>") == "<[key]>"


VALUES = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc"], exclude_characters="[]"),
    min_size=8,
    max_size=24,
)
ENCODINGS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "json": json.dumps,
    "json in letters of any language": lambda value: json.dumps(value, ensure_ascii=False),
    "a json document": lambda value: json.dumps({"a": [value]}),
    "url": lambda value: quote(value, safe=""),
    "url path": quote,
    "url form": quote_plus,
    "url in small letters": lambda value: re.sub(
        "%..", lambda found: found[0].lower(), quote(value)
    ),
    "hex": lambda value: value.encode().hex(),
    "base64": lambda value: base64.b64encode(value.encode()).decode(),
    "base64 for urls": lambda value: base64.urlsafe_b64encode(value.encode()).decode(),
}


ENCODED = st.tuples(st.integers(0, 2), st.sampled_from(sorted(ENCODINGS)))
"""Which value, and how it is written."""


@given(
    st.lists(VALUES, min_size=1, max_size=3),
    st.lists(st.text(max_size=20) | ENCODED, max_size=5),
)
def test_no_known_value_is_left(values: list[str], parts: list[str | tuple[int, str]]) -> None:
    written = [
        part if isinstance(part, str) else ENCODINGS[part[1]](values[part[0] % len(values)])
        for part in parts
    ]
    known = KnownSecrets(values)
    cleaned = known.redact("".join(written))
    assert len(cleaned) <= sum(map(len, written))
    assert known.redact(cleaned) is cleaned
    for part, text in zip(parts, written, strict=True):
        assert isinstance(part, str) or text.strip('"') not in cleaned


def test_what_holds_none_is_the_same_object() -> None:
    text = "nothing here"
    assert KnownSecrets([KEY]).redact(text) is text
    data = b"nothing \xff here"
    assert redact_bytes(data) is data


def test_short_placeholders_are_left_alone() -> None:
    assert KnownSecrets(["none", "x" * 7]).redact("none of xxxxxxx") == "none of xxxxxxx"


def test_redaction_keeps_other_bytes_of_any_encoding() -> None:
    token = b"ghp_" + b"a1" * 18
    assert redact_bytes(b"caf\xe9 " + token + b" \x00\xff") == b"caf\xe9 [a GitHub token] \x00\xff"


@given(st.binary())
def test_any_bytes_are_taken(data: bytes) -> None:
    assert redact_bytes(data) == data
