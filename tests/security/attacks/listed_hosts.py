"""Ways round the list of hosts, tried by a set-up command that may reach one of them.

Each is tried against servers of the test: `PLAIN` and `TLS` are the ports of a host that is listed
as `files.example.org`, `OTHER` is one on the same machine that is not listed. Its control is the
same attack with the other server's name listed, or without a sandbox.
"""

from dataclasses import dataclass
from typing import Literal

Control = Literal["listed", "unconfined"]


@dataclass(frozen=True)
class Way:
    """An attack; its effect is that something reaches the server `OTHER`."""

    name: str
    attack: str
    control: Control = "unconfined"
    """`listed`: the same, but `other.example.org` is in the list as well."""


def _py(text: str) -> str:
    return f"python3 - <<'END'\nimport os, socket\n{text}\nEND"


def _raw(request: str) -> str:
    """Say exactly this to the proxy, and show its answer."""
    return _py(
        "OTHER, PLAIN = os.environ['OTHER'], os.environ['PLAIN']\n"
        "one = socket.create_connection(('127.0.0.1', 3128), 10)\n"
        f"one.sendall(f{request!r}.encode())\n"
        "answer = one.recv(4096)\n"
        "if b' 200 ' in answer: one.sendall(b'GET / HTTP/1.1\\r\\n\\r\\n'); answer += one.recv(99)\n"
        "print(answer)"
    )


_OTHER = "http://other.example.org:$OTHER/"
CASES = (
    Way("another host by curl", f"curl -sS {_OTHER}", "listed"),
    Way("another host in a tunnel", f"curl -sS -p {_OTHER}", "listed"),
    Way(
        "another host by Python",
        _py(
            "import urllib.request\n"
            "urllib.request.urlopen('http://other.example.org:' + os.environ['OTHER'])"
        ),
        "listed",
    ),
    Way("another host by git", "git ls-remote http://other.example.org:$OTHER/x.git", "listed"),
    Way(
        "another host in capitals, with a dot behind it",
        _raw("CONNECT OTHER.example.ORG.:{OTHER} HTTP/1.1\r\n\r\n"),
        "listed",
    ),
    Way("past the proxy by curl", "curl -sS --noproxy '*' http://127.0.0.1:$OTHER/"),
    Way(
        "past the proxy without its variables", "env -i /usr/bin/curl -sS http://127.0.0.1:$OTHER/"
    ),
    Way(
        "past the proxy by a socket",
        _py("socket.create_connection(('127.0.0.1', int(os.environ['OTHER'])), 10).send(b'x')"),
    ),
    Way(
        "past the proxy by the shell",
        "echo x >/dev/tcp/127.0.0.1/$OTHER",
    ),
)
"""What works without the list, or without the sandbox."""

SPELLINGS = (
    "127.0.0.1",
    "127.1",
    "0",
    "0.0.0.0",
    "2130706433",
    "0x7f000001",
    "0x7f.1",
    "0177.0.0.1",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[0:0:0:0:0:0:0:1]",
    "127.0.0.1.",
    "localhost",
    "localhost.",
    "localhost.localdomain",
    "files.example.org.other.example.org",
    "x@127.0.0.1",
    "files.example.org@127.0.0.1",
    "files.example.org#@127.0.0.1",
    "files.example.org%00.other.example.org",
    "files.example.org:1@127.0.0.1",
)
"""Hosts in a request to the proxy that may look like the listed one, or lead to this machine."""
RAW = tuple(
    (f"{form} {host}", _raw(request.replace("HOST", host)))
    for host in SPELLINGS
    for form, request in (
        ("a tunnel to", "CONNECT HOST:{OTHER} HTTP/1.1\r\nHost: files.example.org\r\n\r\n"),
        ("a request to", "GET http://HOST:{OTHER}/ HTTP/1.1\r\nHost: files.example.org\r\n\r\n"),
    )
)
"""No control: no proxy of ours would take them, whatever is listed."""
