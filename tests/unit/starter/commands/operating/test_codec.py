"""`codec`: its address is printed only when the port is its own."""

import socket
from pathlib import Path

import pytest
from typer.testing import CliRunner

from starter.cli import app
from starter.console.exit_codes import ExitCode
from workers.payload_keys import new_key


def test_no_address_is_printed_when_the_port_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BLUEFLAME_PAYLOAD_KEYS", new_key("a"))
    monkeypatch.setenv("BLUEFLAME_DATA_DIR", str(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        asked = ["codec", "--port", str(port), "--origin", "http://127.0.0.1:8233"]
        result = CliRunner().invoke(app, asked)
    assert result.exit_code == ExitCode.USAGE, result.output
    assert result.stdout == ""
    assert f"port {port} cannot be served (Address already in use" in result.stderr
