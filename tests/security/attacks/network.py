"""Reaching a network: the host's loopback, other machines, resolvers, metadata, local sockets.

They run in a world of their own (`tests.security.world`), in which every one of these addresses
answers, with and without the sandbox.
"""

from dataclasses import dataclass

TCP = {
    "loopback": ("127.0.0.1", 8080),
    "loopback of version 6": ("::1", 8080),
    "a proxy": ("127.0.0.1", 3128),
    "a database": ("127.0.0.1", 5432),
    "a git server": ("127.0.0.1", 9418),
    "metadata": ("169.254.169.254", 80),
    "metadata of containers": ("169.254.170.2", 80),
    "a machine of the network": ("10.1.2.3", 443),
    "a machine of the world": ("203.0.113.9", 443),
    "the gateway": ("192.168.0.1", 80),
}
UDP = {
    "a resolver": ("127.0.0.53", 53),
    "a resolver of the world": ("8.8.8.8", 53),
    "a log": ("127.0.0.1", 514),
}
PATHS = ("agent.sock", "docker.sock", "bus", "datagram")
ABSTRACT = ("stream", "datagram")


@dataclass(frozen=True)
class Reach:
    """An attack on something that listens."""

    name: str
    attack: str
    serves: bool = False
    """The attack listens itself, on port 7777, and the host is what connects."""


def _py(text: str) -> str:
    # A socket's path may have 107 bytes; a script goes to its folder first.
    return f"python3 - <<'END'\nimport os, socket\n{text}\nEND"


def _connects(name: str, place: tuple[str, int]) -> Reach:
    return Reach(name, _py(f"socket.create_connection({place!r}, 15).sendall(b'x')"))


def _sends(name: str, place: tuple[str, int]) -> Reach:
    return Reach(name, _py(f"socket.socket(2, 2).sendto(b'x', {place!r})"))


_QUERY = "bytes.fromhex('0001010000010000000000000474657374') + bytes(5)"
CASES = (
    *(_connects(name, place) for name, place in TCP.items()),
    *(_sends(name, place) for name, place in UDP.items()),
    Reach("loopback by the shell", "echo x >/dev/tcp/127.0.0.1/8080"),
    Reach("a datagram by the shell", "echo x >/dev/udp/127.0.0.1/514"),
    Reach("loopback by curl", "curl -s -m 2 http://127.0.0.1:8080/"),
    Reach("metadata by curl", "curl -s -m 2 http://169.254.169.254/latest/meta-data/"),
    Reach("metadata by a number", "curl -s -m 2 http://2852039166/"),
    Reach(
        "metadata mapped to version 6",
        _py("socket.create_connection(('::ffff:169.254.169.254', 80), 15)"),
    ),
    Reach(
        "loopback by another of its addresses",
        _py("socket.create_connection(('0.0.0.0', 8080), 15)"),
    ),
    Reach("loopback mapped to version 6", "curl -s -m 2 'http://[::ffff:127.0.0.1]:8080/'"),
    Reach(
        "a proxy from the environment",
        "https_proxy=http://127.0.0.1:3128 curl -s -m 2 https://203.0.113.9/",
    ),
    Reach("a fetch by git", "timeout 3 git ls-remote git://127.0.0.1/x"),
    Reach("a query over UDP", _py(f"socket.socket(2, 2).sendto({_QUERY}, ('8.8.8.8', 53))")),
    Reach(
        "data in a query",
        _py(f"socket.socket(2, 2).sendto({_QUERY} + b'secret', ('127.0.0.53', 53))"),
    ),
    *(
        Reach(
            f"a socket by its path: {name}",
            _py(
                f"one = socket.socket(1, {2 if name == 'datagram' else 1})\n"
                f"os.chdir(os.environ['HOST']); one.connect('{name}'); one.send(b'x')"
            ),
        )
        for name in PATHS
    ),
    Reach(
        "a socket through a link",
        _py("os.symlink(os.environ['HOST'], 'to')\nsocket.socket(1, 1).connect('to/agent.sock')"),
    ),
    Reach(
        "a socket through the root of process 1",
        _py(
            "os.chdir('/proc/self/root' + os.environ['HOST']); socket.socket(1, 1).connect('agent.sock')"
        ),
    ),
    Reach(
        "an abstract socket",
        _py("socket.socket(1, 1).connect(chr(0) + os.environ['ABSTRACT'] + 'stream')"),
    ),
    Reach(
        "an abstract datagram",
        _py("socket.socket(1, 2).sendto(b'x', chr(0) + os.environ['ABSTRACT'] + 'datagram')"),
    ),
    Reach(
        "a port that the host can reach",
        _py("one = socket.create_server(('0.0.0.0', 7777)); one.settimeout(5); one.accept()"),
        serves=True,
    ),
)
