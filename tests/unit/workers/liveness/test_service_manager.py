"""What systemd hears of a process, on a real socket of the kind that it opens."""

import contextlib
import logging
import os
import socket
from collections.abc import Generator
from pathlib import Path

import pytest

from workers.liveness.service_manager import ALIVE, READY, notify


@contextlib.contextmanager
def listening(address: str) -> Generator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as made:
        made.settimeout(10)
        made.bind(f"\0{address[1:]}" if address.startswith("@") else address)
        yield made


def test_lines_arrive_as_one_datagram(tmp_path: Path) -> None:
    address = str(tmp_path / "notify")
    with listening(address) as manager:
        notify({"NOTIFY_SOCKET": address}, READY, "STATUS=here")
        notify({"NOTIFY_SOCKET": address}, ALIVE)
        assert manager.recv(4_096) == b"READY=1\nSTATUS=here"
        assert manager.recv(4_096) == b"WATCHDOG=1"


def test_the_name_of_an_abstract_socket_begins_with_an_at_sign() -> None:
    address = f"@blueflame-test-{os.getpid()}"
    with listening(address) as manager:
        notify({"NOTIFY_SOCKET": address}, ALIVE)
        assert manager.recv(4_096) == b"WATCHDOG=1"


@pytest.mark.parametrize("address", ["", "relative", None])
def test_without_a_manager_nothing_is_sent(
    address: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    notify({} if address is None else {"NOTIFY_SOCKET": address}, READY)
    assert caplog.records == []


def test_a_manager_that_is_gone_ends_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        notify({"NOTIFY_SOCKET": str(tmp_path / "gone")}, READY)
    (record,) = caplog.records
    assert "does not hear ('READY=1',)" in record.message
