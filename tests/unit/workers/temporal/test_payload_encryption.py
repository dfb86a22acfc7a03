"""`payload_encryption` and the codec server: what leaves is sealed, and only our keys open it."""

import dataclasses
from pathlib import Path

import pytest
from google.protobuf import json_format
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr
from starlette.testclient import TestClient
from temporalio.api.common.v1 import Payload, Payloads
from temporalio.api.failure.v1 import Failure
from temporalio.exceptions import ApplicationError

from workers.hosting import data_layout
from workers.payload_keys import PayloadKeyError, new_key, read_keys
from workers.settings import Settings
from workers.temporal.codec_server import codec_app, secret_path
from workers.temporal.connection import data_converter
from workers.temporal.payload_encryption import EncryptingCodec, KeylessCodec
from workers.temporal.temporal_errors import PayloadUnreadableError

OLD, NEW = new_key("old"), new_key("new")
UI = "http://127.0.0.1:8233"
TOKEN = "ghp_" + "a1" * 18


def _files(top: Path) -> list[bytes]:
    return [path.read_bytes() for path in top.rglob("*") if path.is_file()]


def _payload(data: bytes) -> Payload:
    return Payload(metadata={"encoding": b"json/plain"}, data=data)


@given(st.binary(max_size=2_000))
async def test_what_was_sealed_is_opened_and_unreadable_between(data: bytes) -> None:
    codec = EncryptingCodec(read_keys(NEW))
    payload = _payload(b"secret" + data)
    (sealed,) = await codec.encode([payload])
    assert b"secret" not in sealed.SerializeToString()
    assert await codec.decode([sealed]) == [payload]


async def test_the_first_key_seals_and_every_key_opens() -> None:
    (before,) = await EncryptingCodec(read_keys(OLD)).encode([_payload(b"1")])
    rotated = EncryptingCodec(read_keys(f"{NEW},{OLD}"))
    assert await rotated.decode([before]) == [_payload(b"1")]
    (after,) = await rotated.encode([_payload(b"2")])
    with pytest.raises(PayloadUnreadableError, match="needs key 'new'"):
        await EncryptingCodec(read_keys(OLD)).decode([after])
    with pytest.raises(PayloadUnreadableError, match="key 'new'; set BLUEFLAME_PAYLOAD_KEYS"):
        await KeylessCodec().decode([after])


async def test_what_was_written_before_encryption_passes() -> None:
    assert await EncryptingCodec(read_keys(NEW)).decode([_payload(b"1")]) == [_payload(b"1")]


async def test_a_changed_payload_is_refused() -> None:
    codec = EncryptingCodec(read_keys(f"{NEW},{OLD}"))
    (sealed,) = await codec.encode([_payload(b"1")])
    flipped = Payload(
        metadata=sealed.metadata, data=sealed.data[:-1] + bytes([sealed.data[-1] ^ 1])
    )
    renamed = Payload(metadata={**sealed.metadata, "encryption-key-id": b"old"}, data=sealed.data)
    for bad in (flipped, renamed, Payload(metadata=sealed.metadata, data=sealed.data[:5])):
        with pytest.raises(PayloadUnreadableError, match="was changed"):
            await codec.decode([bad])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "holds no key"),
        ("abc", "entry 1 is not"),
        ("a b:!", "entry 1 is not"),
        ("k:AAAA", "not base64 of 32 bytes"),
        ("k:!!!!", "not base64 of 32 bytes"),
        (f"{OLD},{OLD}", "comes twice"),
    ],
    ids=["empty", "no id", "odd id", "short", "no base64", "twice"],
)
def test_refuses_an_invalid_key_without_showing_it(text: str, why: str) -> None:
    with pytest.raises(PayloadKeyError, match=why) as caught:
        read_keys(text)
    assert OLD.partition(":")[2] not in str(caught.value)


async def test_the_whole_converter_seals_small_and_large_values_and_failures(
    tmp_path: Path,
) -> None:
    settings = Settings(data_dir=tmp_path, payload_keys=SecretStr(NEW))
    data_layout.prepare(settings)
    converter = data_converter(settings)
    for size in (1, 400_000):
        value = "canary" * size
        payloads = await converter.encode([value])
        assert await converter.decode(payloads, [str]) == [value]
        assert all(b"canary" not in each for each in (*_files(tmp_path), str(payloads).encode()))
    failure = Failure()
    await converter.encode_failure(ApplicationError("canary", "canary"), failure)
    assert b"canary" not in failure.SerializeToString()
    assert "canary" in str(await converter.decode_failure(failure))


async def test_failures_lose_their_secrets_with_and_without_encryption(tmp_path: Path) -> None:
    for keys in (None, SecretStr(NEW)):
        converter = data_converter(Settings(data_dir=tmp_path, payload_keys=keys))
        failure = Failure()
        error = RuntimeError(f"outer {TOKEN}")
        error.__cause__ = ValueError(f"inner {TOKEN}")
        await converter.encode_failure(error, failure)
        told = await converter.decode_failure(failure)
        assert str(told.__cause__) == "ValueError: inner [a GitHub token]"
        assert "outer [a GitHub token]" in str(told)
        assert TOKEN not in str(failure)


def test_the_codec_server_answers_pages_of_its_web_ui_only() -> None:
    """Field report G47: and others only if they know the path."""
    secret = secret_path(read_keys(NEW))
    client = TestClient(codec_app(EncryptingCodec(read_keys(NEW)), secret, [UI]))
    plain = json_format.MessageToJson(Payloads(payloads=[_payload(b"1")]))
    sealed = client.post(f"/{secret}/encode", content=plain, headers={"origin": UI})
    for headers in ({"origin": UI}, {}):
        opened = client.post(f"/{secret}/decode", content=sealed.content, headers=headers)
        assert json_format.Parse(opened.content, Payloads()).payloads[0] == _payload(b"1")
    assert sealed.headers["access-control-allow-origin"] == UI
    other = {"origin": "http://evil.example"}
    refused = client.post(f"/{secret}/decode", content=sealed.content, headers=other)
    assert refused.status_code == 403
    assert "access-control-allow-origin" not in refused.headers
    for wrong in ("", f"/{secret[:-1]}", "/%C3%A9", f"/{secret.upper()}"):
        guessed = client.post(f"{wrong}/decode", content=sealed.content, headers={"origin": UI})
        assert guessed.status_code in {403, 404}
    bad = client.post(f"/{secret}/decode", content=b"{", headers={"origin": UI})
    assert bad.status_code == 400


def test_the_path_of_the_codec_server_follows_from_the_key_that_encrypts() -> None:
    first, second = new_key("a"), new_key("b")
    secret = secret_path(read_keys(f"{first},{second}"))
    assert secret == secret_path(read_keys(first)) != secret_path(read_keys(second))
    assert (len(secret), secret.isalnum()) == (32, True)


def test_settings_refuse_what_holds_no_keys(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="entry 1 is not") as caught:
        Settings(data_dir=tmp_path, payload_keys=SecretStr(" canary-key "))
    assert "canary" not in str(caught.value)


def test_children_get_the_keys(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, payload_keys=SecretStr(NEW))
    assert settings.as_environment()["BLUEFLAME_PAYLOAD_KEYS"] == NEW
    assert dataclasses.is_dataclass(data_converter(settings))
    assert NEW not in repr(settings)
