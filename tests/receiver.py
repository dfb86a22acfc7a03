"""A local HTTP server that keeps what is posted to it, and answers as the test says."""

import json
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


@dataclass
class Post:
    """One request."""

    path: str
    headers: dict[str, str]
    """With names in small letters."""
    body: bytes

    @property
    def json(self) -> Any:
        """The body's document."""
        return json.loads(self.body)


@dataclass
class Receiver:
    """What came, and what is answered."""

    port: int = 0
    posts: list[Post] = field(default_factory=list[Post])
    answers: list[int] = field(default_factory=list[int])
    """The status of the next answers, first one first; then 200."""
    on_post: Callable[[Post], None] = lambda _: None
    """Called with what came, in the server's thread, before it is answered."""

    def to(self, path: str) -> list[Post]:
        """Return what was posted to one path."""
        return [post for post in self.posts if post.path == path]


@contextmanager
def receiving() -> Generator[Receiver]:
    """Serve on a free port of this machine."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            receiver.posts.append(post := Post(self.path, headers, body))
            receiver.on_post(post)
            self.send_response(receiver.answers.pop(0) if receiver.answers else 200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base class's)
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    receiver.port = server.server_port
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
