"""The proxy of set-up by itself, over loopback: what it passes on, and all that it does not."""

import asyncio
import contextlib
import itertools
import os
import socket
import threading
from collections.abc import AsyncGenerator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.adapters.sandbox.egress.egress_proxy import MOST_REFUSALS, Bounds, Egress, Outside
from activities.adapters.sandbox.egress.proxy_request import BadHeadError, read_head
from activities.ports.registry_access import ReachableRegistries
from tests.descriptors import only_descriptors
from tests.waiting import until
from workflows.domain.environment import Registry, RegistryAccess

HOST = "files.example.org"


@dataclass
class World:
    """A server that answers every name, and what it saw."""

    port: int = 0
    seen: list[bytes] = field(default_factory=list[bytes])
    asked: list[str] = field(default_factory=list[str])
    answers: Sequence[Sequence[str]] = (("127.0.0.1",),)
    """What names resolve to: the first answer, then the next, the last one for ever."""

    async def resolve(self, name: str) -> tuple[str, ...]:
        self.asked.append(name)
        return tuple(self.answers[min(len(self.asked), len(self.answers)) - 1])

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection; the client may leave at any moment."""
        try:
            with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
                await self._answer(reader, writer)
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Echo what follows a first line `tunnel`; answer anything else as a web server does."""
        head = await reader.readuntil(b"\n")
        if head == b"tunnel\n":
            while data := await reader.read(1 << 16):
                self.seen.append(data)
                writer.write(data)
                await writer.drain()
        elif b"/big" in head:
            writer.write(bytes(16 << 20))
        elif head == b"silent\n":
            await reader.read()
        else:
            self.seen.append(head + await reader.readuntil(b"\r\n\r\n"))
            writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello")
            await writer.drain()


def reachable(address: str) -> str | None:
    """In these tests loopback stands for the world, and nothing else is public."""
    return None if address == "127.0.0.1" else "private"


@pytest.fixture
async def world() -> AsyncGenerator[World]:
    made = World()
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    async with server:
        yield made


@contextlib.asynccontextmanager
async def proxy(
    world: World,
    bounds: Bounds | None = None,
    fault: Callable[[str], str | None] = reachable,
    entries: tuple[str, ...] = (),
    registries: ReachableRegistries | None = None,
) -> AsyncGenerator[tuple[Egress, int]]:
    """A proxy that listens, and its port."""
    listed = entries or (f"{HOST}:{world.port}",)
    reachable = registries or ReachableRegistries()
    egress = Egress(listed, Outside(world.resolve, fault), bounds or Bounds(), reachable)
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        serving = asyncio.ensure_future(egress.serve(server))
        try:
            yield egress, server.getsockname()[1]
        finally:
            serving.cancel()
            (end,) = await asyncio.gather(serving, return_exceptions=True)
            assert isinstance(end, asyncio.CancelledError)


async def ask(port: int, request: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    try:
        return await reader.read()
    finally:
        writer.close()


async def many_turns() -> None:
    """Let the loop, in which both ends run, go round more often than a connection needs."""
    for _ in range(200):
        await asyncio.sleep(0)


def connect(host: str, port: int) -> bytes:
    return f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode()


async def test_a_plain_request_goes_on_to_the_judged_host_and_names_no_other(world: World):
    async with proxy(world) as (egress, port):
        answer = await ask(
            port,
            f"GET http://FILES.example.org.:{world.port}/a?b=c HTTP/1.1\r\nHost: evil.example\r\n"
            "Accept: */*\r\nConnection: keep-alive, X-Hop\r\nX-Hop: 1\r\nProxy-Authorization: x\r\n"
            "Content-Length: 0\r\n\r\n".encode(),
        )
    assert answer.endswith(b"hello")
    assert world.seen == [
        f"GET /a?b=c HTTP/1.1\r\nHost: {HOST}:{world.port}\r\naccept: */*\r\n"
        "content-length: 0\r\nConnection: close\r\n\r\n".encode()
    ]
    assert world.asked == [HOST]
    assert not egress.refusals


async def test_a_second_request_on_the_same_connection_is_not_passed_on(world: World):
    first = f"GET http://{HOST}:{world.port} HTTP/1.1\r\n\r\n".encode()
    second = b"GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n"
    async with proxy(world) as (_, port):
        await ask(port, first + second)
    assert len(world.seen) == 1
    assert b"evil" not in world.seen[0]


async def test_a_tunnel_passes_bytes_on_both_ways_until_both_ends_are_done(world: World):
    data = bytes(range(256)) * 4_000
    async with proxy(world) as (_, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(connect(HOST, world.port))
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
        writer.write(b"tunnel\n" + data)
        writer.write_eof()
        assert await reader.read() == data
        writer.close()


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        (connect("evil.example", 443), "403 Host is not in worktree.network"),
        (connect("files.example.org.evil.example", 443), "403 Host"),
        (connect("127.0.0.1", 80), "403 Host"),
        (connect("127.1", 80), "403 Host"),
        (connect("2130706433", 80), "403 Host"),
        (connect("0x7f000001", 80), "403 Host"),
        (connect("[::1]", 80), "403 Host"),
        (connect("[::ffff:127.0.0.1]", 80), "403 Host"),
        (connect("localhost", 80), "403 Host"),
        (connect(HOST, 1), "403 Host"),
        (connect(HOST, 0), "400 Not"),
        (connect(HOST, 70000), "400 Not"),
        (b"CONNECT files.example.org HTTP/1.1\r\n\r\n", "400 Not"),
        (b"CONNECT a@files.example.org:443 HTTP/1.1\r\n\r\n", "400 Not"),
        (b"GET / HTTP/1.1\r\nHost: files.example.org\r\n\r\n", "400 Not"),
        (b"GET https://files.example.org/ HTTP/1.1\r\n\r\n", "400 Not"),
        (b"GET ftp://files.example.org/ HTTP/1.1\r\n\r\n", "400 Not"),
        (b"GET http://files.example.org@evil.example/ HTTP/1.1\r\n\r\n", "400 Not"),
        (b"GET http://evil.example\\files.example.org/ HTTP/1.1\r\n\r\n", "400 Not"),
        (b"GET http://evil.example#files.example.org/ HTTP/1.1\r\n\r\n", "400 Not"),
        (b"POST http://files.example.org/ HTTP/1.1\r\nContent-Length: 1\r\n\r\nx", "400 Not"),
        (b"GET http://files.example.org/ HTTP/1.1\r\nContent-Length: 1\r\n\r\nx", "400 Not"),
        (b"GET http://files.example.org/ HTTP/1.1\r\nTransfer-Encoding: x\r\n\r\n", "400 Not"),
        (b"GET http://files.example.org/ HTTP/1.1\r\nA: b\n\tc: d\r\n\r\n", "400 Not"),
        (b"GET http://files.example.org/ HTTP/1.1\r\nA : b\r\n\r\n", "400 Not"),
        (b"GET http://files.example.org/ HTTP/1.1\r\n folded\r\n\r\n", "400 Not"),
        (b"GET http://files.example.org/ HTTP/1.1\nA: b\r\n\r\n", "400 Not"),
        (b"GET http://files.example.org/\tx HTTP/1.1\r\n\r\n", "400 Not"),
        (b"GET http://files.example.org/ HTTP/2\r\n\r\n", "400 Not"),
        (b"\x16\x03\x01\x02\r\n\r\n", "400 Not"),
        (b"\xff\xfe\r\n\r\n", "400 Not"),
        (b"\r\n\r\n", "400 Not"),
    ],
)
async def test_anything_else_is_refused_and_reaches_no_host(
    world: World, request_: bytes, said: str
):
    async with proxy(world) as (egress, port):
        answer = await ask(port, request_)
    assert answer.startswith(f"HTTP/1.1 {said}".encode())
    (refusal,) = egress.refusals
    assert refusal.encode() in answer
    assert (world.seen, world.asked) == ([], [])


@pytest.mark.parametrize("size", [20_000, 1_000_000])
async def test_a_head_has_a_longest_size(world: World, size: int):
    async with proxy(world) as (egress, port):
        with contextlib.suppress(ConnectionError):
            await ask(port, b"GET http://" + b"a" * size + b" HTTP/1.1\r\n\r\n")
    assert "16384 bytes" in " ".join(egress.refusals)
    assert world.asked == []


@pytest.mark.parametrize(
    "addresses",
    [
        ["169.254.169.254"],
        ["fd00:ec2::254"],
        ["10.0.0.1"],
        ["127.0.0.1"],
        ["::1"],
        ["::ffff:127.0.0.1"],
        ["64:ff9b::7f00:1"],
        ["100.64.0.1"],
        ["0.0.0.0"],
        ["8.8.8.8", "127.0.0.1"],
        ["127.0.0.1", "8.8.8.8"],
        ["2606:4700::1111", "fe80::1%eth0"],
    ],
)
async def test_a_listed_name_that_leads_inside_is_refused(world: World, addresses: list[str]):
    world.answers = (addresses,)
    async with proxy(world, fault=Outside().fault) as (egress, port):
        answer = await ask(port, connect(HOST, world.port))
    assert answer.startswith(b"HTTP/1.1 403 Address is not public")
    (refusal,) = egress.refusals
    assert "which is not public" in refusal
    assert world.seen == []


def known(host: str, *, own_port: int = 0) -> ReachableRegistries:
    """A session's private registry."""
    access = RegistryAccess(registries=(Registry(host=host, private=True),))
    return ReachableRegistries(access, frozenset({own_port}))


async def test_a_private_registry_is_reached_where_it_is(world: World):
    registries = known(f"{HOST}:{world.port}")
    async with proxy(world, fault=Outside().fault, registries=registries) as (egress, port):
        answer = await ask(port, f"GET http://{HOST}:{world.port}/ HTTP/1.1\r\n\r\n".encode())
    assert answer.endswith(b"hello")
    assert not egress.refusals


async def test_a_host_that_is_private_is_refused_with_the_line_that_allows_it(world: World):
    entries = (f"{HOST}:{world.port}",)
    for other in (known(HOST), known(f"other.example.org:{world.port}"), None):
        async with proxy(world, fault=Outside().fault, registries=other) as (egress, port):
            await ask(port, connect(HOST, world.port))
        (refusal,) = egress.refusals
        line = f'environment: {{registries: [{{host: "{entries[0]}", private: true}}]}}'
        assert f"add `{line}` to your own configuration" in refusal
    assert world.seen == []


async def test_a_private_registry_has_to_be_listed(world: World):
    registries = known(f"{HOST}:{world.port}")
    entries = ("other.example.org",)
    async with proxy(world, entries=entries, registries=registries) as (_, port):
        answer = await ask(port, connect(HOST, world.port))
    assert answer.startswith(b"HTTP/1.1 403 Host is not in worktree.network")
    assert world.asked == []


@pytest.mark.parametrize(
    "addresses",
    [["169.254.169.254"], ["10.0.0.1", "169.254.169.254"], ["fd00:ec2::254"], ["fe80::1%eth0"]],
)
async def test_not_even_a_private_registry_leads_to_metadata(world: World, addresses: list[str]):
    world.answers = (addresses,)
    registries = known(f"{HOST}:{world.port}")
    async with proxy(world, fault=Outside().fault, registries=registries) as (_, port):
        answer = await ask(port, connect(HOST, world.port))
    assert answer.startswith(b"HTTP/1.1 403 Address is never reached")


async def test_not_even_a_private_registry_leads_to_blue_flames_own_ports(world: World):
    registries = known(f"{HOST}:{world.port}", own_port=world.port)
    async with proxy(world, fault=Outside().fault, registries=registries) as (_, port):
        answer = await ask(port, connect(HOST, world.port))
    assert answer.startswith(b"HTTP/1.1 403 Port is never reached")
    assert world.seen == []


async def test_what_was_judged_is_what_is_connected(world: World):
    world.answers = (["127.0.0.1"], ["127.0.0.2"])
    async with proxy(world) as (egress, port):
        first = await ask(port, f"GET http://{HOST}:{world.port}/ HTTP/1.1\r\n\r\n".encode())
        assert world.asked == [HOST], "one question a connection, so no second answer"
        second = await ask(port, f"GET http://{HOST}:{world.port}/ HTTP/1.1\r\n\r\n".encode())
    assert first.endswith(b"hello")
    assert b"127.0.0.2, which is not public (private)" in second
    assert len(world.seen) == len(egress.refusals) == 1


async def test_the_next_address_is_tried_where_one_does_not_answer(world: World):
    world.answers = (["127.0.0.9", "127.0.0.1"],)
    async with proxy(world, fault=lambda _: None) as (egress, port):
        answer = await ask(port, f"GET http://{HOST}:{world.port}/ HTTP/1.1\r\n\r\n".encode())
    assert answer.endswith(b"hello")
    assert not egress.refusals


async def test_a_listed_host_that_does_not_answer_is_told(world: World):
    world.answers = (["127.0.0.9"],)
    async with proxy(world, fault=lambda _: None) as (egress, port):
        answer = await ask(port, connect(HOST, world.port))
    assert answer.startswith(b"HTTP/1.1 502 Host does not answer")
    assert f"port {world.port} is not reached" in " ".join(egress.refusals)


async def test_a_listed_name_without_an_address_is_told(world: World):
    async def resolve(name: str) -> tuple[str, ...]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    world.resolve = resolve
    async with proxy(world) as (egress, port):
        answer = await ask(port, connect(HOST, world.port))
    assert answer.startswith(b"HTTP/1.1 502 Host has no address")
    assert "Name or service not known" in " ".join(egress.refusals)


async def test_the_systems_resolver_says_that_a_name_has_no_address():
    with pytest.raises(OSError, match=r"\S"):
        await Outside().resolve("nobody.invalid")  # RFC 6761: nothing is ever below it


async def test_a_lookup_needs_no_thread_that_others_wait_for():
    held = threading.Event()
    with ThreadPoolExecutor(1) as threads:
        asyncio.get_running_loop().set_default_executor(threads)
        busy = asyncio.ensure_future(asyncio.to_thread(held.wait))
        try:
            with pytest.raises(socket.gaierror, match=r"\S"):
                await Outside().resolve("nobody.invalid")
            assert not busy.done()
        finally:
            held.set()
            await busy


async def test_few_names_are_looked_up_at_once(world: World):
    answered = asyncio.Event()

    async def resolve(name: str) -> tuple[str, ...]:
        world.asked.append(name)
        await answered.wait()
        return ("127.0.0.1",)

    world.resolve = resolve
    request = f"GET http://{HOST}:{world.port}/ HTTP/1.1\r\n\r\n".encode()
    async with proxy(world, Bounds(lookups=2)) as (_, port):
        asking = [asyncio.ensure_future(ask(port, request)) for _ in range(5)]
        await until(lambda: len(world.asked) == 2, "the first two are looked up")
        await many_turns()
        assert len(world.asked) == 2
        assert not any(each.done() for each in asking)
        answered.set()
        assert all(answer.endswith(b"hello") for answer in await asyncio.gather(*asking))
    assert len(world.asked) == len(asking)


async def test_without_a_free_descriptor_a_connection_waits_for_one(world: World):
    async with proxy(world) as (_, port):
        with socket.socket() as client:
            with only_descriptors(0):
                client.connect(("127.0.0.1", port))
                for _ in range(10):  # the proxy tries to accept, again and again
                    await asyncio.sleep(0)
            client.sendall(f"GET http://{HOST}:{world.port}/ HTTP/1.1\r\n\r\n".encode())
            reader, writer = await asyncio.open_connection(sock=client.dup())
            assert (await reader.read()).endswith(b"hello")
            writer.close()


async def test_a_connection_on_which_nothing_moves_ends(world: World):
    async with proxy(world, Bounds(idle_s=0.05)) as (_, port):
        assert await ask(port, connect(HOST, world.port) + b"silent\n") != b""


async def test_a_head_that_never_comes_ends(world: World):
    async with proxy(world, Bounds(head_s=0.05)) as (egress, port):
        with contextlib.suppress(ConnectionError):
            assert await ask(port, b"GET ") == b""
    assert not egress.refusals


async def test_more_connections_than_allowed_wait_for_their_turn(world: World):
    request = f"GET http://{HOST}:{world.port}/ HTTP/1.1\r\n\r\n".encode()
    async with proxy(world, Bounds(connections=1)) as (_, port):
        held, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(connect(HOST, world.port))
        await held.readuntil(b"\r\n\r\n")
        waiting = asyncio.ensure_future(ask(port, request))
        await many_turns()
        assert not waiting.done()
        writer.close()
        assert (await waiting).endswith(b"hello")


async def test_a_client_that_vanishes_disturbs_no_other(world: World):
    async with proxy(world) as (_, port):
        for part in (b"", b"GET", connect(HOST, world.port), connect("evil.example", 1)):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(part)
            writer.transport.abort()
        answer = await ask(port, f"GET http://{HOST}:{world.port}/ HTTP/1.1\r\n\r\n".encode())
    assert answer.endswith(b"hello")


async def test_refusals_are_kept_once_and_not_without_end(world: World):
    async with proxy(world) as (egress, port):
        for name in itertools.chain(["a0"] * 3, (f"a{n}" for n in range(MOST_REFUSALS + 5))):
            await ask(port, connect(f"{name}.example", 443))
    assert len(egress.refusals) == MOST_REFUSALS
    assert "'a0.example'" in next(iter(egress.refusals))


async def test_the_end_does_not_wait_for_a_client_that_does_not_read(world: World):
    before = set(os.listdir("/proc/self/fd"))
    async with proxy(world) as (_, port):
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(f"GET http://{HOST}:{world.port}/big HTTP/1.1\r\n\r\n".encode())
            assert await asyncio.to_thread(client.recv, 1) == b"\0"
    await until(lambda: set(os.listdir("/proc/self/fd")) <= before, "the end of all connections")


def test_many_headers_are_read_in_one_pass():
    names = [f"{number:x}: a" for number in range(2_000)]
    head = "\r\n".join(("GET http://a.b/ HTTP/1.1", *names, "Connection: 1, 2", "", ""))
    assert len(read_head(head.encode()).headers) == len(names) - 2


async def test_the_end_closes_every_connection(world: World):
    async with proxy(world) as (_, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(connect(HOST, world.port) + b"silent\n")
        await reader.readuntil(b"\r\n\r\n")
    with contextlib.suppress(ConnectionError):
        assert await reader.read() == b""
    writer.close()


@given(
    st.binary(max_size=60)
    | st.text(alphabet="GETCONC HTP/1.0:a\r\n\t\0", max_size=60).map(str.encode)
)
def test_no_head_raises_anything_else(data: bytes):
    with contextlib.suppress(BadHeadError):
        read_head(data + b"\r\n\r\n")


@given(
    st.text(alphabet="ab.:/?&%@#\\ \r\n", max_size=20),
    st.lists(st.text(alphabet="ahost: \r\n\tconecti,proxy-", max_size=20), max_size=3),
)
def test_what_is_forwarded_is_one_head_with_one_host(target: str, lines: list[str]):
    head = "".join(f"{line}\r\n" for line in (f"GET http://a.b/{target} HTTP/1.1", *lines, ""))
    with contextlib.suppress(BadHeadError):
        asked = read_head(head.encode())
        assert (asked.host, asked.port) == ("a.b", 80)
        sent = asked.forwarded("a.b")
        assert sent.index(b"\r\n\r\n") == len(sent) - 4
        names = [line.partition(b":")[0].lower() for line in sent.split(b"\r\n")[1:-2]]
        assert (names.count(b"host"), names.count(b"connection")) == (1, 1)
        assert not sent.replace(b"\r\n", b"").strip(b"\t").count(b"\n")
