"""Ports for servers that a test starts: no one else on the machine is given them meanwhile."""

import contextlib
import socket
from collections.abc import Generator


@contextlib.contextmanager
def kept_port() -> Generator[int]:
    """Keep a port of 127.0.0.1; a server may listen on it while it is kept."""
    with socket.socket() as kept:
        kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        kept.bind(("127.0.0.1", 0))
        yield kept.getsockname()[1]
