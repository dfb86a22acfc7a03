"""A world for set-up with a network: listed names lead to servers of the test, over loopback."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.x509 import DNSName

from activities.adapters.sandbox.bubblewrap import BubblewrapSandbox
from activities.adapters.sandbox.egress.egress_proxy import Outside
from tests.certificates import make_certificate

NAME = "files.example.org"
BODY = b"hello from the world"


@dataclass
class Listed:
    """Two servers, what reached them, and the sandbox whose listed names lead there."""

    plain: int
    encrypted: int
    certificate: bytes
    """Of the encrypted one: `PEM`."""
    seen: list[bytes] = field(default_factory=list[bytes])
    connections: list[object] = field(default_factory=list[object])
    asked: list[str] = field(default_factory=list[str])
    answers: Sequence[str] = ("127.0.0.1",)

    async def _resolve(self, name: str) -> tuple[str, ...]:
        self.asked.append(name)
        return tuple(self.answers)

    def sandbox(self, *, strict: bool = False) -> BubblewrapSandbox:
        """Return one that takes loopback for the world, or, strictly, for what it is."""
        if strict:
            return BubblewrapSandbox(outside=Outside(self._resolve))
        return BubblewrapSandbox(outside=Outside(self._resolve, lambda _: None))

    @property
    def network(self) -> tuple[str, ...]:
        """The list that allows both servers."""
        return f"{NAME}:{self.plain}", f"{NAME}:{self.encrypted}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request."""
        self.connections.append(writer)
        with contextlib.suppress(asyncio.IncompleteReadError, OSError):
            self.seen.append(await reader.readuntil(b"\r\n\r\n"))
            head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(BODY)}\r\nConnection: close\r\n\r\n"
            writer.write(head.encode() + BODY)
            await writer.drain()
        writer.close()


@contextlib.asynccontextmanager
async def listed(folder: Path) -> AsyncGenerator[Listed]:
    """Start the world.

    Args:
        folder: for the key of the encrypted server.
    """
    context, certificate = identity(folder)
    world = Listed(0, 0, certificate)
    plain = await asyncio.start_server(world.serve, "127.0.0.1", 0)
    encrypted = await asyncio.start_server(world.serve, "127.0.0.1", 0, ssl=context)
    world.plain, world.encrypted = (each.sockets[0].getsockname()[1] for each in (plain, encrypted))
    async with plain, encrypted:
        yield world


def identity(folder: Path) -> tuple[ssl.SSLContext, bytes]:
    """Return a server certificate for `NAME`, signed by itself, and its PEM."""
    kept = folder / "identity.pem"
    certificate = make_certificate(kept, [DNSName(NAME)])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(kept)
    return context, certificate
