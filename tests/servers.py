"""Fixtures: the real bundled Temporal server with our flags, one for each test process."""

import contextlib
import os
import socket
import subprocess
from collections.abc import Generator, Iterator
from datetime import timedelta
from pathlib import Path
from typing import BinaryIO

import pytest
from temporalio.client import Client

from tests.ports import kept_port
from tests.waiting import PATIENCE, until_blocking
from workers.server.dev_server import server_command, server_environment
from workers.settings import Settings
from workers.temporal.connection import ServerAddress, connect

_SHORT_RUNS = '--dynamic-config-value=history.workflowIdReuseMinimalInterval="1ms"'
"""Without it a run that continues as new within a second makes the next one wait for the rest."""
LESS_COLLECTING = {"GOGC": "800"}
"""Go collects garbage less often: a seventh less of the processor for a little more memory."""
_ON_DISK = ("--db-filename=", "--sqlite-pragma=")
"""Without them the server keeps all in memory: a fifth less of the processor, and no waiting for a
disk. No test starts such a server again."""
_STARTS = 3


@pytest.fixture(scope="session")
def temporal_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerAddress]:
    """A running server; its namespace `default` is shared by the tests of this process."""
    with running_server(tmp_path_factory.mktemp("temporal")) as address:
        yield address


@contextlib.contextmanager
def running_server(directory: Path) -> Generator[ServerAddress]:
    """Run a server in memory, with its log in a directory; a run may be as short as a test's."""
    with (directory / "temporal.log").open("wb") as log, kept_port() as port, kept_port() as ui:
        address = ServerAddress(address=f"127.0.0.1:{port}", ui=f"http://127.0.0.1:{ui}")
        process = _started(address, directory, log)
        try:
            yield address
        finally:
            process.terminate()
            process.wait(PATIENCE)


def _started(address: ServerAddress, directory: Path, log: BinaryIO) -> "subprocess.Popen[bytes]":
    """Start a server until one comes up: for its inner parts it takes ports that it found free."""
    usual = server_command(address, directory / "temporal.db")
    command = [part for part in usual if not part.startswith(_ON_DISK)]
    for _ in range(_STARTS):
        process = subprocess.Popen(
            [*command, _SHORT_RUNS],
            env={**server_environment(os.environ), **LESS_COLLECTING},
            stdout=log,
            stderr=log,
        )
        if _answers(address, process):
            return process
        process.kill()
        process.wait(PATIENCE)
    pytest.fail(f"the server did not come up: {Path(log.name).read_text()[-500:]}")


@pytest.fixture
def temporal_settings(temporal_server: ServerAddress, tmp_path: Path) -> Settings:
    """Settings of a fresh data directory on the running server."""
    return Settings(data_dir=tmp_path / "data", server=temporal_server.address)


@pytest.fixture
async def temporal_client(temporal_settings: Settings) -> Client:
    """A client with our data converter."""
    return await connect(temporal_settings, timedelta(seconds=PATIENCE))


def _answers(address: ServerAddress, process: "subprocess.Popen[bytes]") -> bool:
    """Wait until a server accepts connections; false: it has ended, or it never does."""
    host, _, port = address.address.rpartition(":")

    def accepts_or_has_ended() -> bool:
        with contextlib.suppress(OSError), socket.create_connection((host, int(port)), 1):
            return True
        return process.poll() is not None

    with contextlib.suppress(AssertionError):  # one more start fits into a test's time
        until_blocking(accepts_or_has_ended, "the server accepts connections", PATIENCE / 2)
        return process.poll() is None
    return False
