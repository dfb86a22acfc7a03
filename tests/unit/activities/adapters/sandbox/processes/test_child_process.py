"""`process.Child`: what is left where it cannot be started."""

import os

import pytest

from activities.adapters.sandbox.processes.child_process import Child, Spawn
from tests.descriptors import only_descriptors


@pytest.mark.parametrize("free", range(5))
async def test_without_descriptors_nothing_is_started_and_nothing_left(free: int):
    before = set(os.listdir("/proc/self/fd"))
    child = Child(Spawn(("true",), {}, handshake=(b"up", b"go")), output_bytes=1)
    with only_descriptors(free), pytest.raises(OSError, match="Too many open files"):
        await child.__aenter__()
    assert set(os.listdir("/proc/self/fd")) <= before
