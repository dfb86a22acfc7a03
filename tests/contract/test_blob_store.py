"""What every blob store promises, held by the shipped ones alike."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from activities.adapters.blob_store import LocalStore, MemoryStore, digest_of
from activities.ports.blob_store_port import BlobMissingError, BlobStore
from workflows.domain.ids import Digest


@pytest.fixture(params=["local", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> BlobStore:
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
