"""The proxy of set-up commands: it reaches the hosts that a person listed, and no others.

It runs in the host worker and accepts connections on a socket that listens inside the sandbox
(`network_socket`). `policy.network.host_list` judges a host's name; then the proxy resolves it
once. If any of the addresses is not public (`policy.network.public_addresses`), it connects to
none; otherwise it connects to one of them, not to the name again. Only a registry that the person
marks as private may have other addresses. Bytes are passed on unread, except for registries that
need credentials: there the proxy ends the encryption itself (`inner_authority`), and adds the
credentials to each request. It keeps nothing open after its one command.
"""

import asyncio
import contextlib
import errno
import functools
import socket
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from activities.adapters.sandbox.egress import upstream_proxy
from activities.adapters.sandbox.egress.answer_redaction import AnswerRedaction
from activities.adapters.sandbox.egress.inner_authority import InnerAuthority
from activities.adapters.sandbox.egress.proxy_request import (
    Asked,
    BadHeadError,
    read_head,
    read_inner_head,
)
from activities.adapters.sandbox.egress.upstream_proxy import UpstreamError, authorization_lines
from activities.ports.registry_access import (
    Credential,
    ReachableRegistries,
    Registries,
    ready_line,
)
from workflows.policy.network.host_list import host_refusal, normal_name
from workflows.policy.network.public_addresses import address_fault, private_address_fault

_CHUNK_BYTES = 1 << 16
_MOST_ADDRESSES = 16
_FLUSH_S = 5.0
_PAUSE_S = 0.1
_SHORTAGE = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
"""Of descriptors or memory, while other processes hold them."""
_RESOLVING_THREADS = 32
MOST_REFUSALS = 20
"""How many different refusals are kept for a person."""
_ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def resolve(name: str) -> tuple[str, ...]:
    """Ask the system for a name's addresses.

    Args:
        name: absolute, so that no search domain of the host is tried.

    Raises:
        OSError: it has none, or no server answers.
    """
    asking = functools.partial(socket.getaddrinfo, type=socket.SOCK_STREAM)
    loop = asyncio.get_running_loop()
    found = await loop.run_in_executor(_resolvers(), asking, f"{name}.".encode(), None)
    return tuple(dict.fromkeys(str(address[0]) for *_, address in found))


@functools.cache
def _resolvers() -> ThreadPoolExecutor:
    """Return separate threads, because a lookup without an answer blocks its thread for long."""
    return ThreadPoolExecutor(_RESOLVING_THREADS, thread_name_prefix="resolve")


@dataclass(frozen=True)
class Outside:
    """The addresses of names, and which of them may be reached. Tests pass a fake."""

    resolve: Callable[[str], Awaitable[tuple[str, ...]]] = resolve
    fault: Callable[[str], str | None] = address_fault
    private_fault: Callable[[str], str | None] = private_address_fault
    registries: Registries = field(default_factory=Registries)


@dataclass(frozen=True)
class Bounds:
    """The limits of one command's proxy."""

    connections: int = 64
    """Open at the same time; others wait."""
    lookups: int = 4
    """Connecting at the same time; others wait, and the wait counts as their time."""
    head_bytes: int = 16 << 10
    head_s: float = 30.0
    connect_s: float = 20.0
    """For resolving a name, and then for each address."""
    idle_s: float = 120.0
    """How long a connection without traffic lives."""


class _RefusedError(Exception):
    """Ends a request with a status and with this text, which a person also reads."""

    def __init__(self, status: str, text: str) -> None:
        super().__init__(text)
        self.status = status


@dataclass
class Egress:
    """The proxy of one command."""

    entries: tuple[str, ...]
    outside: Outside = field(default_factory=Outside)
    bounds: Bounds = field(default_factory=Bounds)
    registries: ReachableRegistries = field(default_factory=ReachableRegistries)
    authority: InnerAuthority | None = None
    """Issues certificates for registries with credentials; None: there are none."""
    refusals: dict[str, None] = field(default_factory=dict[str, None])
    """Hosts that were not reached, and why; in order, without repeats."""
    _looking: asyncio.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        self._looking = asyncio.Semaphore(self.bounds.lookups)

    async def serve(self, server: socket.socket) -> None:
        """Accept until cancelled; then close every connection.

        Args:
            server: a listening, non-blocking socket; the caller closes it.
        """
        free = asyncio.Semaphore(self.bounds.connections)
        async with asyncio.TaskGroup() as group:
            while True:
                await free.acquire()
                client = await _accepted(server)
                answering = group.create_task(self._one(client))
                # Even if it was cancelled before it began.
                answering.add_done_callback(functools.partial(_ended, client, free))

    async def _one(self, client: socket.socket) -> None:
        """Answer one connection; an error ends only this connection."""
        with contextlib.suppress(OSError):  # includes time-outs
            limit = self.bounds.head_bytes
            async with _closing(await _opened(client, limit)) as streams:
                try:
                    await self._pass_on(streams, await self._asked(streams[0]))
                except _RefusedError as refused:
                    self._note(str(refused))
                    streams[1].write(_answer(refused))
                    await streams[1].drain()

    async def _asked(self, reader: asyncio.StreamReader) -> Asked:
        try:
            return read_head(await self._head(reader))
        except BadHeadError as error:
            raise _RefusedError("400 Not a request for this proxy", str(error)) from error

    async def _head(self, reader: asyncio.StreamReader) -> bytes:
        try:
            async with asyncio.timeout(self.bounds.head_s):
                return await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError as error:
            raise ConnectionResetError from error
        except asyncio.LimitOverrunError as error:
            text = f"the proxy of set-up reads heads of at most {self.bounds.head_bytes} bytes"
            raise _RefusedError("431 Head too large", text) from error

    async def _pass_on(self, inside: Streams, asked: Asked) -> None:
        if refusal := host_refusal(asked.host, asked.port, self.entries):
            raise _RefusedError("403 Host is not in worktree.network", refusal.text)
        name = normal_name(asked.host).name
        if asked.path:
            await self._plain(inside, asked, name)
        elif credential := self.registries.credential(name, asked.port):
            await self._with_credentials(inside, name, credential)
        else:
            async with _closing(await self._connected(name, asked.port)) as outside:
                inside[1].write(_ESTABLISHED)
                await self._relay((inside[0], outside[1]), (outside[0], inside[1]))

    async def _plain(self, inside: Streams, asked: Asked, name: str) -> None:
        """Pass on one request and its answer, and nothing more from the client."""
        above = self.registries.is_behind_proxy(name, asked.port)
        connecting = self._upstream() if above else self._connected(name, asked.port)
        async with _closing(await connecting) as outside:
            lines = authorization_lines(self.registries.tools.proxy_authorization)
            head = asked.above(name, lines) if above else asked.forwarded(name)
            outside[1].write(head)
            await self._relay((outside[0], inside[1]))

    async def _with_credentials(self, inside: Streams, name: str, credential: Credential) -> None:
        """Answer inside in place of a registry, and ask it outside with its credentials."""
        assert self.authority is not None
        inside[1].write(_ESTABLISHED)
        try:
            await inside[1].start_tls(self.authority.context(name))
        except OSError:
            self._note(
                f"a program of set-up does not trust the proxy, which stands for the registry "
                f"{name!r}: it has to read its certificates from SSL_CERT_FILE"
            )
            raise
        head = await self._head(inside[0])
        try:
            asked = read_inner_head(head, name, credential.port)
        except BadHeadError as error:
            raise _RefusedError("405 Registries are only read", str(error)) from error
        async with _closing(await self._connected(name, credential.port)) as outside:
            await self._encrypted(outside, name)
            outside[1].write(asked.authorized(name, credential.authorization))
            clean = AnswerRedaction((*credential.secrets, credential.authorization))
            await self._relay((outside[0], inside[1]), redaction=clean)

    async def _encrypted(self, outside: Streams, name: str) -> None:
        context = ssl.create_default_context()
        if authorities := self.registries.tools.authorities:
            context.load_verify_locations(cadata=authorities)
        try:
            await outside[1].start_tls(context, server_hostname=name)
        except OSError as error:
            said = getattr(error, "verify_message", "") or error.strerror or "it gives no answer"
            text = (
                f"registry {name!r} is not trusted: {said}; name your company's certificates by "
                "'environment.ca_file' in your own configuration"
            )
            raise _RefusedError("502 Registry is not trusted", text) from error

    async def _connected(self, name: str, port: int) -> Streams:
        """Connect to one of a name's addresses, after all of them were judged."""
        if self.registries.is_behind_proxy(name, port):
            return await self._tunnelled(name, port)
        addresses = await self._judged(name, port)
        said = "it has no address"
        for address in addresses[:_MOST_ADDRESSES]:
            opening = asyncio.open_connection(address, port, flags=socket.AI_NUMERICHOST)
            try:
                async with asyncio.timeout(self.bounds.connect_s):
                    return await opening
            except OSError as error:
                said = error.strerror or "it does not answer in time"
        text = f"host {name!r} is in 'worktree.network', but port {port} is not reached: {said}"
        raise _RefusedError("502 Host does not answer", text)

    async def _upstream(self) -> Streams:
        address = self.registries.access.upstream_proxy
        assert address is not None
        try:
            async with asyncio.timeout(self.bounds.connect_s):
                return await upstream_proxy.connect(address)
        except (UpstreamError, TimeoutError) as error:
            text = f"{error}" or f"the upstream proxy {address!r} does not answer in time"
            raise _RefusedError("502 Upstream proxy does not answer", text) from error

    async def _tunnelled(self, name: str, port: int) -> Streams:
        """Let the upstream proxy connect; it resolves the name."""
        address = self.registries.access.upstream_proxy
        assert address is not None
        streams = await self._upstream()
        authorization = self.registries.tools.proxy_authorization
        try:
            async with asyncio.timeout(self.bounds.connect_s):
                await upstream_proxy.tunnel(streams, address, f"{name}:{port}", authorization)
        except BaseException as error:
            streams[1].transport.abort()
            if not isinstance(error, UpstreamError | OSError):
                raise
            text = f"{error}" or f"the upstream proxy {address!r} does not answer in time"
            raise _RefusedError("502 Upstream proxy refuses", text) from error
        return streams

    async def _judged(self, name: str, port: int) -> tuple[str, ...]:
        try:
            async with asyncio.timeout(self.bounds.connect_s), self._looking:
                addresses = await self.outside.resolve(name)
        except OSError as error:
            said = error.strerror or "no answer in time"
            text = f"host {name!r} is in 'worktree.network', but has no address here: {said}"
            raise _RefusedError("502 Host has no address", text) from error
        for address in addresses:
            if (kind := self.outside.fault(address)) is not None:
                self._check_private(name, port, address, kind)
        return addresses

    def _check_private(self, name: str, port: int, address: str, kind: str) -> None:
        """Refuse an address that is not public, unless it belongs to a private registry."""
        leads = (
            f"host {name!r} is in 'worktree.network', but leads to the address {address}, which is "
            f"not public ({kind})"
        )
        if not self.registries.is_private(name, port):
            line = ready_line(name, port)
            text = f"{leads}; if it is a mirror of yours, add `{line}` to your own configuration"
            raise _RefusedError("403 Address is not public", text)
        if self.outside.private_fault(address) is not None:
            text = f"{leads}; even a private registry is never reached there"
            raise _RefusedError("403 Address is never reached", text)
        if port in self.registries.own_ports:
            text = f"{leads}; Blue Flame itself listens on port {port}, which set-up never reaches"
            raise _RefusedError("403 Port is never reached", text)

    async def _relay(self, *ways: Streams, redaction: AnswerRedaction | None = None) -> None:
        """Pass bytes in each direction until its end, or until nothing moved for long."""
        loop, idle_s = asyncio.get_running_loop(), self.bounds.idle_s
        async with asyncio.timeout(idle_s) as idle:

            def moved() -> None:
                idle.reschedule(loop.time() + idle_s)

            await asyncio.gather(*(_pump(way, moved, redaction) for way in ways))

    def _note(self, text: str) -> None:
        if len(self.refusals) < MOST_REFUSALS:
            self.refusals[text] = None


async def _accepted(server: socket.socket) -> socket.socket:
    """Accept one connection; while the worker has no free descriptor, clients wait."""
    while True:
        try:
            client, _ = await asyncio.get_running_loop().sock_accept(server)
        except OSError as error:
            if error.errno not in _SHORTAGE:
                raise
            await asyncio.sleep(_PAUSE_S)
        else:
            return client


def _ended(client: socket.socket, free: asyncio.Semaphore, _: asyncio.Task[None]) -> None:
    client.close()
    free.release()


async def _opened(client: socket.socket, limit: int) -> Streams:
    """Open an accepted connection so that it can become the server's end of an encrypted one."""
    loop = asyncio.get_running_loop()
    opened: asyncio.Future[Streams] = loop.create_future()
    reader = asyncio.StreamReader(limit)
    protocol = asyncio.StreamReaderProtocol(
        reader, lambda reader, writer: opened.set_result((reader, writer))
    )
    await loop.connect_accepted_socket(lambda: protocol, client)
    return await opened


async def _pump(
    way: Streams, moved: Callable[[], None], redaction: AnswerRedaction | None = None
) -> None:
    reader, writer = way
    try:
        while data := await reader.read(_CHUNK_BYTES):
            moved()
            writer.write(data if redaction is None else redaction.next(data))
            await writer.drain()
        if redaction is not None:
            writer.write(redaction.end())
        if writer.can_write_eof():
            writer.write_eof()
    except OSError:  # one side is gone, which also ends the other direction
        writer.transport.abort()


def _answer(refused: _RefusedError) -> bytes:
    body = f"blueflame: {refused}\n".encode()
    head = (
        f"HTTP/1.1 {refused.status}\r\nContent-Type: text/plain; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body


@contextlib.asynccontextmanager
async def _closing(streams: Streams) -> AsyncGenerator[Streams]:
    try:
        yield streams
    except BaseException:
        streams[1].transport.abort()
        raise
    finally:
        await _close(streams[1])


async def _close(writer: asyncio.StreamWriter) -> None:
    """Send what is left, but wait only briefly for a client that does not take it."""
    if not writer.is_closing():  # in Python 3.11.2 a TLS transport closed twice cannot be aborted
        writer.close()
    try:
        async with asyncio.timeout(_FLUSH_S):
            await writer.wait_closed()
    except OSError:  # the client is gone, or was too slow
        pass
    finally:
        writer.transport.abort()
