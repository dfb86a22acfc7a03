"""What every blob store promises, held by the shipped ones alike."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from activities.adapters.blob_store import LocalStore, MemoryStore, digest_of
from activities.ports.blob_store_port import BlobMissingError, BlobStore, StreamStore
from tests.unit.activities.adapters.git.home import names
from workflows.domain.ids import Digest


@pytest.fixture(params=["local", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> StreamStore:
    return LocalStore(tmp_path) if request.param == "local" else MemoryStore()


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=4096))
async def test_gives_back_what_was_put(store: BlobStore, data: bytes) -> None:
    digest = await store.put(data)
    assert digest == digest_of(data)
    assert await store.get(digest) == data


async def test_putting_twice_is_putting_once(store: BlobStore) -> None:
    assert await store.put(b"same") == await store.put(b"same")
    assert await store.get(digest_of(b"same")) == b"same"


@pytest.mark.parametrize(
    "digest",
    [digest_of(b"never put"), "", "../../etc/passwd", "A" * 64, "0" * 63, "0" * 64 + "\n"],
)
async def test_what_is_not_there_is_missing(store: BlobStore, digest: str) -> None:
    with pytest.raises(BlobMissingError):
        await store.get(Digest(digest))


async def test_streams_are_the_same_blobs(store: StreamStore) -> None:
    async def write(descriptor: int) -> None:
        os.write(descriptor, b"one ")
        os.write(descriptor, b"two")

    digest = await store.put_from(write)
    assert digest == digest_of(b"one two") == await store.put_from(write)
    assert await store.get(digest) == b"one two"
    async with store.opened(digest) as descriptor:
        assert os.read(descriptor, 100) == b"one two"
    await store.discard(digest)
    await store.discard(digest)
    with pytest.raises(BlobMissingError):
        async with store.opened(digest):
            pass


async def test_a_stream_that_breaks_off_is_not_stored(store: StreamStore, tmp_path: Path) -> None:
    async def write(descriptor: int) -> None:
        os.write(descriptor, b"half")
        raise OSError("broken off")

    with pytest.raises(OSError, match="broken off"):
        await store.put_from(write)
    assert not names(tmp_path)
