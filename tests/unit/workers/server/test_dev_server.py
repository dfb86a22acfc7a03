"""`workers.server.dev_server`: ports and flags; the server itself is in tests/e2e."""

import socket
from pathlib import Path

from tests.ports import kept_port
from workers.atomic_file import replace_text
from workers.server.dev_server import (
    FLAGS,
    choose_address,
    find_program,
    server_command,
    server_environment,
)
from workers.settings import Settings
from workers.temporal.connection import ServerAddress, read_server_file, server_file


def _settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path, temporal_port=0, ui_port=0)


def test_free_ports_differ(tmp_path: Path) -> None:
    address = choose_address(_settings(tmp_path))
    assert address.address.startswith("127.0.0.1:")
    assert address.address.rpartition(":")[2] != address.ui.rpartition(":")[2]


def test_the_ports_of_the_last_time_are_taken_again(tmp_path: Path) -> None:
    settings = _settings(tmp_path)
    with kept_port() as port, kept_port() as ui:
        last = ServerAddress(address=f"127.0.0.1:{port}", ui=f"http://127.0.0.1:{ui}")
        replace_text(server_file(settings), last.model_dump_json())
        assert choose_address(settings) == last


def test_a_port_that_is_taken_is_passed_over(tmp_path: Path) -> None:
    settings = _settings(tmp_path)
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = ServerAddress(
            address=f"127.0.0.1:{other.getsockname()[1]}", ui="http://127.0.0.1:1"
        )
        replace_text(server_file(settings), taken.model_dump_json())
        assert choose_address(settings).address != taken.address


def test_ignores_a_damaged_server_file(tmp_path: Path) -> None:
    settings = _settings(tmp_path)
    server_file(settings).write_text("{")
    assert read_server_file(settings) is None


def test_the_command_has_the_flags_and_the_ports(tmp_path: Path) -> None:
    address = ServerAddress(address="127.0.0.1:1234", ui="http://127.0.0.1:5678")
    command = server_command(address, tmp_path / "t.db")
    assert command[0] == str(find_program())
    assert {"--port=1234", "--ui-port=5678", f"--db-filename={tmp_path / 't.db'}"} < set(command)
    assert set(FLAGS) < set(command)


def test_the_server_collects_less_often_unless_the_caller_says_otherwise():
    environment = server_environment({"PATH": "/bin", "SECRET": "s", "GOGC": "50"})
    assert environment["GOGC"] == "50"
    assert int(server_environment({})["GOGC"]) > 100
    assert "SECRET" not in environment
