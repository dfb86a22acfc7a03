"""`workers.temporal.external_payloads`: large payloads go to the store, small ones stay."""

import dataclasses

from hypothesis import given
from hypothesis import strategies as st
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.converter import DataConverter, ExternalStorage

from activities.adapters.blob_store import MemoryStore
from workers.temporal.external_payloads import THRESHOLD_BYTES, LocalPayloadDriver

EVENT_LIMIT_BYTES = 256_000


def _converter(store: MemoryStore) -> DataConverter:
    return dataclasses.replace(
        pydantic_data_converter,
        external_storage=ExternalStorage(
            drivers=[LocalPayloadDriver(store)], payload_size_threshold=THRESHOLD_BYTES
        ),
    )


@given(size=st.integers(0, 400_000))
async def test_every_payload_comes_back_and_none_is_large(size: int) -> None:
    converter = _converter(MemoryStore())
    value = "x" * size
    payloads = await converter.encode([value])
    assert sum(payload.ByteSize() for payload in payloads) < EVENT_LIMIT_BYTES
    assert await converter.decode(payloads, [str]) == [value]


async def test_a_small_payload_needs_no_store() -> None:
    converter = _converter(MemoryStore())
    payloads = await converter.encode(["small"])
    assert b"small" in payloads[0].data
