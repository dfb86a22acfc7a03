"""A world of its own in a private network: everything answers, and nothing of the host is there.

Run as a program under `unshare --user --map-current-user --keep-caps --net --uts --ipc`; gives up
what rights it has there before the first attack, and says on its output what each attack reached,
without the sandbox and in it.
"""

import asyncio
import contextlib
import ctypes
import fcntl
import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
from datetime import timedelta
from pathlib import Path

from activities.adapters.sandbox.blueflame_programs import worker_prefixes
from activities.adapters.sandbox.bubblewrap import BubblewrapSandbox
from activities.ports.sandbox_port import Limits, SandboxCommand, Workspace
from tests.security.attacks.network import ABSTRACT, CASES, PATHS, TCP, UDP, Reach
from tests.waiting import PATIENCE

_SET_ADDRESS, _SET_FLAGS, _UP = 0x8916, 0x8914, 0x41
_PREFIX = "blueflame-world-"


def raise_network() -> None:
    """Give the loopback every address that is attacked."""
    named = {host for host, _ in (*TCP.values(), *UDP.values())}
    hosts = sorted(host for host in named if ":" not in host and not host.startswith("127."))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        names = [b"lo", *(f"lo:{number}".encode() for number, _ in enumerate(hosts))]
        for name, host in zip(names, ["127.0.0.1", *hosts], strict=True):
            address = struct.pack(
                "16sH2s4s8s", name, socket.AF_INET, b"", socket.inet_aton(host), b""
            )
            fcntl.ioctl(control, _SET_ADDRESS, address)
            fcntl.ioctl(control, _SET_FLAGS, struct.pack("16sh14s", name, _UP, b""))


def listen(folder: Path) -> list[socket.socket]:
    """Open everything that answers."""
    servers = [
        socket.create_server(place, family=socket.AF_INET6 if ":" in place[0] else socket.AF_INET)
        for place in TCP.values()
    ]
    for place in UDP.values():
        servers.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        servers[-1].bind(place)
    os.chdir(folder)  # a socket's path may have 107 bytes, and this one may be longer
    named = [(name, name) for name in PATHS]
    named += [(name, f"\0{_PREFIX}{name}") for name in ABSTRACT]
    for name, address in named:
        is_datagram = name == "datagram"
        servers.append(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM if is_datagram else 1))
        servers[-1].bind(address)
        if not is_datagram:
            servers[-1].listen()
    for server in servers:
        server.setblocking(False)
    return servers


def drop_rights() -> None:
    """Give up every capability for good."""
    library = ctypes.CDLL(None, use_errno=True)
    if library.capset(struct.pack("Ii", 0x20080522, 0), bytes(24)) != 0:
        raise OSError(ctypes.get_errno(), "capset")


def reached(servers: list[socket.socket]) -> int:
    """Count what came in, and take it away."""
    count = 0
    for server in servers:
        with contextlib.suppress(BlockingIOError):
            while True:
                if server.type == socket.SOCK_DGRAM:
                    server.recv(4096)
                else:
                    server.accept()[0].close()
                count += 1
    return count


async def confined(case: Reach, workspace: Path, env: dict[str, str]) -> None:
    """Run an attack in the sandbox."""
    await BubblewrapSandbox().run(
        SandboxCommand(
            argv=("bash", "-c", case.attack),
            workspace=Workspace(path=workspace),
            env=tuple(env.items()),
            limits=Limits(timeout=timedelta(seconds=PATIENCE)),
        )
    )


async def unconfined(case: Reach, workspace: Path, env: dict[str, str]) -> None:
    """Run an attack without it; this world is all that it can reach."""
    tools = [str(prefix / "bin") for prefix in worker_prefixes()]
    await asyncio.to_thread(
        subprocess.run,
        ("bash", "-c", case.attack),
        cwd=workspace,
        env={**env, "PATH": ":".join([*tools, "/usr/bin", "/bin"])},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=PATIENCE,
        check=False,
    )


async def one(case: Reach, servers: list[socket.socket], top: Path) -> tuple[int, int]:
    """Return what an attack reached without the sandbox, and in it."""
    counts: list[int] = []
    env = {"HOST": str(top / "host"), "ABSTRACT": _PREFIX}
    for run in (unconfined, confined):
        with tempfile.TemporaryDirectory(dir=top) as folder:
            running = asyncio.ensure_future(run(case, Path(folder), env))
            came_in = 0
            while case.serves and not running.done() and not came_in:
                came_in = await _connected()
            await running
            counts.append(came_in + reached(servers))
    return counts[0], counts[1]


async def _connected() -> int:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", 7777)
    except OSError:
        await asyncio.sleep(0)
        return 0
    writer.close()
    return 1


async def main(top: Path) -> None:
    """Run all attacks and print what they reached."""
    raise_network()
    (top / "host").mkdir()
    servers = listen(top / "host")
    drop_rights()
    reached_by = {case.name: await one(case, servers, top) for case in CASES}
    sys.stdout.write(json.dumps(reached_by))


if __name__ == "__main__":
    os.umask(0o022)
    asyncio.run(main(Path(sys.argv[1])))
