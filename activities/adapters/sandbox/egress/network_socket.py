"""The one way out of a sandbox: a socket that listens inside, and is answered outside.

The sandbox's network stays empty. Before the command, a few lines of Python inside listen on its
loopback, hand that socket to the host through an inherited descriptor, and become the command. So
nothing stands in a file system, no process of the host stays inside, and with the command's end all
of it is gone. What goes through is `egress`'s to judge.
"""

import asyncio
import contextlib
import socket
from collections.abc import AsyncGenerator
from typing import Final

from activities.adapters.sandbox.blueflame_programs import own_programs
from activities.adapters.sandbox.child_process import readable
from activities.adapters.sandbox.egress.egress_proxy import Egress

PORT: Final = 3128
"""On the sandbox's own loopback, where nothing else listens: each command has a new one."""
_BACKLOG: Final = 128
_PROXY: Final = f"http://127.0.0.1:{PORT}"
VARIABLES: Final = (
    *((name, _PROXY) for name in ("HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy")),
    *((name, "") for name in ("NO_PROXY", "no_proxy")),
)
"""What programs read; an empty list of exceptions, for without the proxy nothing is reached."""

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
"""Run isolated (`-I -S`): nothing of the worktree is imported."""


def through(channel: int, argv: tuple[str, ...]) -> tuple[str, ...]:
    """Return the command that opens the door and becomes `argv`.

    Args:
        channel: the descriptor, inherited under this number, that leads to the host.
        argv: the command itself.
    """
    return (str(own_programs().interpreter), "-I", "-S", "-c", _INSIDE, str(channel), *argv)


@contextlib.asynccontextmanager
async def answered(channel: socket.socket, egress: Egress) -> AsyncGenerator[None]:
    """Let a proxy answer what comes from inside, as long as the body runs.

    Args:
        channel: our end of the descriptor; does not block.
        egress: judges what is asked for.
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
