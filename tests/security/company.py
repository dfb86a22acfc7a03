"""A company's network: a registry that wants credentials, a proxy, an authority of its own."""

import asyncio
import base64
import contextlib
import functools
import hashlib
import io
import json
import tarfile
import zipfile
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from pathlib import Path

from activities.adapters.sandbox.bubblewrap import BubblewrapSandbox
from activities.adapters.sandbox.egress.egress_proxy import Outside
from activities.ports.registry_access import Registries
from tests.security.listed import NAME, identity
from workers.hosting.registry_settings.person_settings import read_tool_settings
from workers.hosting.registry_settings.setting_files import Person
from workflows.domain.environment import ProjectEnvironment, Registry, TokenSource

OTHER = "other.example.org"
USER, PASSWORD = "reader", "hunter2-hunter2"
BASIC = f"Basic {base64.b64encode(f'{USER}:{PASSWORD}'.encode()).decode()}"
TOKEN = "npm-token-0123456789"
_PROXY_BASIC = f"Basic {base64.b64encode(b'me:proxy-secret').decode()}"


def wheel() -> bytes:
    """Return the smallest package that pip installs."""
    data, meta = io.BytesIO(), "Metadata-Version: 2.1\nName: inhouse\nVersion: 1.0\n"
    with zipfile.ZipFile(data, "w") as wheel:
        wheel.writestr("inhouse.py", "WHO = 'us'\n")
        wheel.writestr("inhouse-1.0.dist-info/METADATA", meta)
        kind = "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        wheel.writestr("inhouse-1.0.dist-info/WHEEL", kind)
        wheel.writestr("inhouse-1.0.dist-info/RECORD", "")
    return data.getvalue()


@functools.cache
def _tarball() -> bytes:
    data, text = io.BytesIO(), b'{"name": "inhouse", "version": "1.0.0"}'
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        entry = tarfile.TarInfo("package/package.json")
        entry.size = len(text)
        archive.addfile(entry, io.BytesIO(text))
    return data.getvalue()


def _npm_page(tarball: str) -> bytes:
    digest = hashlib.sha1(_tarball(), usedforsecurity=False).hexdigest()
    dist = {"tarball": tarball, "shasum": digest}
    version = {"name": "inhouse", "version": "1.0.0", "dist": dist}
    tags = {"latest": "1.0.0"}
    return json.dumps(
        {"name": "inhouse", "dist-tags": tags, "versions": {"1.0.0": version}}
    ).encode()


@dataclass
class Company:
    """What listens, what it saw, and the person who has credentials for it."""

    home: Path
    registry: int = 0
    other: int = 0
    proxy: int = 0
    seen: list[str] = field(default_factory=list[str])
    """Heads of requests to the registry."""
    elsewhere: list[str] = field(default_factory=list[str])
    """Heads of requests to the other host."""
    through: list[str] = field(default_factory=list[str])
    """Heads of requests to the proxy."""
    address: str = "127.0.0.1"

    @property
    def place(self) -> str:
        """The registry's host and port."""
        return f"{NAME}:{self.registry}"

    @property
    def network(self) -> tuple[str, ...]:
        """The list of hosts."""
        return self.place, f"{OTHER}:{self.other}"

    def environment(
        self, token_from: TokenSource | None = "pip", *, proxied: bool = False
    ) -> ProjectEnvironment:
        """Return what the person's configuration says."""
        registry = Registry(host=self.place, private=not proxied, token_from=token_from)
        other = Registry(host=f"{OTHER}:{self.other}", private=True)
        return ProjectEnvironment(
            registries=(registry, other),
            upstream_proxy=f"http://127.0.0.1:{self.proxy}" if proxied else None,
            ca_file=str(self.home / "ca.pem"),
        )

    def sandbox(self, told: ProjectEnvironment) -> BubblewrapSandbox:
        """Return one whose names lead here, under the true rules for addresses."""
        access = told.access
        person = Person(self.home, {}, self.home / "etc")
        registries = Registries(access, tools=lambda: read_tool_settings(access, person))
        return BubblewrapSandbox(outside=Outside(self._resolve, registries=registries))

    async def _resolve(self, name: str) -> tuple[str, ...]:
        return (self.address,)

    async def serve_registry(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Answer one request, but only to those who may read."""
        with contextlib.suppress(asyncio.IncompleteReadError, OSError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            self.seen.append(head)
            allowed = BASIC in head or f"Bearer {TOKEN}" in head
            status, more, body = self._answer(head) if allowed else ("401 Who is it", "", b"")
            writer.write(
                f"HTTP/1.1 {status}\r\n{more}Content-Length: {len(body)}\r\n\r\n".encode() + body
            )
            await writer.drain()
        writer.close()

    def _answer(self, head: str) -> tuple[str, str, bytes]:
        top, kind = f"https://{self.place}", "Content-Type: application/json\r\n"
        page = f'<a href="{top}/files/inhouse-1.0-py3-none-any.whl">x</a>'.encode()
        away = f"Location: http://{OTHER}:{self.other}/\r\n"
        answers = {
            "/simple/inhouse/": ("200 OK", "Content-Type: text/html\r\n", page),
            "/files/inhouse-1.0-py3-none-any.whl": ("200 OK", "", wheel()),
            "/npm/inhouse": ("200 OK", kind, _npm_page(f"{top}/npm/inhouse.tgz")),
            "/npm/inhouse.tgz": ("200 OK", "", _tarball()),
            "/away": ("302 Found", away, b""),
            "/echo": ("200 OK", "", head.encode()),
        }
        return answers.get(head.split(" ", 2)[1], ("404 Not here", "", b""))

    async def serve_other(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer anyone."""
        with contextlib.suppress(asyncio.IncompleteReadError, OSError):
            self.elsewhere.append((await reader.readuntil(b"\r\n\r\n")).decode("latin-1"))
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            await writer.drain()
        writer.close()

    async def serve_proxy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Connect those who log in to the registry, whatever they ask for."""
        with contextlib.suppress(asyncio.IncompleteReadError, OSError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            self.through.append(head)
            if f"Proxy-Authorization: {_PROXY_BASIC}" not in head:
                writer.write(b"HTTP/1.1 407 Who is it\r\n\r\n")
            else:
                writer.write(b"HTTP/1.1 200 Go\r\n\r\n")
                far, to = await asyncio.open_connection("127.0.0.1", self.registry)
                await asyncio.gather(_copy(reader, to), _copy(far, writer))
            await writer.drain()
        writer.close()

    def write_settings(self, *, proxy_login: bool = True) -> None:
        """Write the person's own settings of pip, npm and their netrc."""
        (self.home / ".config/pip").mkdir(parents=True, exist_ok=True)
        index = f"https://{USER}:{PASSWORD}@{self.place}/simple"
        (self.home / ".config/pip/pip.conf").write_text(f"[global]\nindex-url = {index}\n")
        (self.home / ".npmrc").write_text(
            f"registry=https://{self.place}/npm/\n//{self.place}/npm/:_authToken={TOKEN}\n"
        )
        machine = "127.0.0.1" if proxy_login else "elsewhere.example.org"
        (self.home / ".netrc").write_text(f"machine {machine} login me password proxy-secret\n")


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
        writer.close()


@contextlib.asynccontextmanager
async def company(folder: Path) -> AsyncGenerator[Company]:
    """Start all of it.

    Args:
        folder: for the person's home and the registry's key.
    """
    home = folder / "home"
    home.mkdir()
    context, certificate = identity(folder)
    (home / "ca.pem").write_bytes(certificate)
    made = Company(home)
    servers = (
        await asyncio.start_server(made.serve_registry, "127.0.0.1", 0, ssl=context),
        await asyncio.start_server(made.serve_other, "127.0.0.1", 0),
        await asyncio.start_server(made.serve_proxy, "127.0.0.1", 0),
    )
    made.registry, made.other, made.proxy = (each.sockets[0].getsockname()[1] for each in servers)
    made.write_settings()
    async with servers[0], servers[1], servers[2]:
        yield made
