"""A git server over https with tokens, on loopback: `git http-backend` behind basic auth."""

import base64
import os
import ssl
import subprocess
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path

from cryptography.x509 import IPAddress

from tests.certificates import make_certificate


class GitServer:
    """A running server.

    Attributes:
        url: its address.
        certificate: the file that its clients have to trust.
        tokens: what is accepted as a password, of any user.
        asked: what was asked, with the status of the answer.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.certificate = folder / "server.pem"
        self.tokens: set[str] = set()
        self.url = ""
        self.asked: list[tuple[str, int]] = []


@contextmanager
def git_server(folder: Path) -> Generator[GitServer]:
    """Serve the bare repositories in a folder until the block ends."""
    serving = GitServer(folder)
    make_certificate(serving.certificate, [IPAddress(ip_address("127.0.0.1"))])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(serving.certificate)

    class Handler(_Handler):
        server_state = serving

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    serving.url = f"https://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield serving
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    """Passes requests with a token on to git."""

    server_state: GitServer
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base's name)
        """Keep quiet."""

    def do_GET(self) -> None:
        """Answer."""
        self._answer()

    def do_POST(self) -> None:
        """Answer."""
        self._answer()

    def _answer(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        if self._token() not in self.server_state.tokens:
            return self._send(401, [("WWW-Authenticate", 'Basic realm="git"')], b"no such token\n")
        path, _, query = self.path.partition("?")
        done = subprocess.run(
            ["git", "http-backend"],
            input=content,
            check=True,
            capture_output=True,
            env={
                "PATH": os.environ["PATH"],
                "GIT_PROJECT_ROOT": str(self.server_state.folder),
                "GIT_HTTP_EXPORT_ALL": "1",
                "REMOTE_USER": "someone",
                "REQUEST_METHOD": self.command,
                "PATH_INFO": path,
                "QUERY_STRING": query,
                "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                "CONTENT_LENGTH": str(len(content)),
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            },
        )
        head, _, body = done.stdout.partition(b"\r\n\r\n")
        pairs = [line.split(": ", 1) for line in head.decode().splitlines()]
        status = next((int(value[:3]) for key, value in pairs if key == "Status"), 200)
        return self._send(status, [(k, v) for k, v in pairs if k != "Status"], body)

    def _token(self) -> str:
        _, _, value = self.headers.get("Authorization", "").partition("Basic ")
        return base64.b64decode(value).decode().partition(":")[2]

    def _send(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        self.server_state.asked.append((f"{self.command} {self.path}", status))
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
