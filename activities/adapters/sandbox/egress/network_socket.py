"""A sandbox's only way out: a socket that listens inside, and is answered outside.

The sandbox's network stays empty. Before the command, a few lines of Python inside listen on its
loopback, pass that socket to the host through an inherited descriptor, and become the command.
So there is no socket file, no process of the host inside, and nothing left after the command's
end. `egress_proxy` judges the traffic.
"""

import asyncio
import contextlib
import socket
from collections.abc import AsyncGenerator
from typing import Final

from activities.adapters.sandbox.blueflame_programs import own_programs
from activities.adapters.sandbox.egress.egress_proxy import Egress
from activities.adapters.sandbox.processes.child_process import readable

PORT: Final = 3128
"""On the sandbox's own loopback, which is new for each command, so nothing else listens there."""
_BACKLOG: Final = 128
_PROXY: Final = f"http://127.0.0.1:{PORT}"
VARIABLES: Final = (
    *((name, _PROXY) for name in ("HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy")),
    *((name, "") for name in ("NO_PROXY", "no_proxy")),
)
"""The variables that programs read. The list of exceptions is empty: only the proxy reaches
hosts."""

_INSIDE: Final = f"""\
import os, socket, sys
channel = socket.socket(fileno=int(sys.argv[1]))
server = socket.create_server(("127.0.0.1", {PORT}), backlog={_BACKLOG})
socket.send_fds(channel, [b"x"], [server.fileno()])
server.close()
channel.close()
try:
    os.execvp(sys.argv[2], sys.argv[2:])
except OSError as error:
    print(f"{{sys.argv[2]}}: {{error.strerror}}", file=sys.stderr)
    sys.exit(127 if isinstance(error, FileNotFoundError) else 126)
"""
"""Runs isolated (`-I -S`), so it imports nothing from the worktree."""


def through(channel: int, argv: tuple[str, ...]) -> tuple[str, ...]:
    """Return the command that opens the socket and becomes `argv`.

    Args:
        channel: the descriptor to the host, inherited under this number.
        argv: the command itself.
    """
    return (str(own_programs().interpreter), "-I", "-S", "-c", _INSIDE, str(channel), *argv)


@contextlib.asynccontextmanager
async def answered(channel: socket.socket, egress: Egress) -> AsyncGenerator[None]:
    """Let a proxy answer connections from inside while the body runs.

    Args:
        channel: this process's end of the descriptor; does not block.
        egress: judges the requests.
    """
    answering = asyncio.ensure_future(_answer(channel, egress))
    try:
        yield
    finally:
        answering.cancel()
        (end,) = await asyncio.gather(answering, return_exceptions=True)
    if isinstance(end, Exception):
        raise end


async def _answer(channel: socket.socket, egress: Egress) -> None:
    while not await readable(channel.fileno()):
        pass
    _, passed, _, _ = socket.recv_fds(channel, 1, 1, socket.MSG_CMSG_CLOEXEC)
    with socket.socket(fileno=passed[0]) as server:
        server.settimeout(0)
        await egress.serve(server)
