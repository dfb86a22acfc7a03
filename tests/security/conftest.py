"""The throw-away host that attacks are tried on, and a world for set-up with a network."""

import asyncio
import os
import subprocess
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import pytest

from tests.security.arena import Arena
from tests.security.listed import Listed, listed


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Arena:
    arena = Arena(tmp_path_factory.mktemp("attacks"))
    asyncio.run(arena.build())
    return arena


@pytest.fixture
def arena(built: Arena, monkeypatch: pytest.MonkeyPatch) -> Iterator[Arena]:
    """A fresh host, with a key in our own environment and in an open descriptor of ours."""
    monkeypatch.setenv("X_API_KEY", built.secret.decode())
    with (built.person / ".netrc").open() as opened, subprocess.Popen(["sleep", "600"]) as sleeper:
        os.set_inheritable(opened.fileno(), True)
        built.bystander = sleeper.pid
        yield built
        sleeper.kill()
    built.reset()


@pytest.fixture
async def world(tmp_path: Path) -> AsyncGenerator[Listed]:
    async with listed(tmp_path) as made:
        yield made
