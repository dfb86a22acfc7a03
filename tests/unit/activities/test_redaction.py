"""`activities.redaction`: known secrets in the forms in which they travel."""

import base64
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.redaction import KnownSecrets, redact_bytes

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


def test_what_holds_none_is_the_same_object() -> None:
    text = "nothing here"
    assert KnownSecrets([KEY]).redact(text) is text
    data = b"nothing \xff here"
    assert redact_bytes(data) is data


def test_short_placeholders_are_left_alone() -> None:
    assert KnownSecrets(["none", "x" * 7]).redact("none of xxxxxxx") == "none of xxxxxxx"


def test_bytes_of_any_encoding_keep_what_is_no_secret() -> None:
    token = b"ghp_" + b"a1" * 18
    assert redact_bytes(b"caf\xe9 " + token + b" \x00\xff") == b"caf\xe9 [a GitHub token] \x00\xff"


@given(st.binary())
def test_any_bytes_are_taken(data: bytes) -> None:
    assert redact_bytes(data) == data
