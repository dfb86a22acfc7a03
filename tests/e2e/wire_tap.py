"""A listener between the workers and a provider: keeps every request's body, passes all on."""

import contextlib
import http.client
import subprocess
import sys
import threading
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from activities.adapters.models.simulator.simulator_server import base_urls
from tests.e2e.processes import ROOT, environment
from tests.ports import kept_port
from tests.waiting import PATIENCE
from workers.settings import Settings


class WireTap:
    """What went over the wire, and where the workers find their providers."""

    def __init__(self, port: int) -> None:
        self.bodies: list[str] = []
        url = f"http://127.0.0.1:{port}"
        self.variables = {
            "ANTHROPIC_API_KEY": "simulated",
            "ANTHROPIC_BASE_URL": base_urls(url)["anthropic"],
            "OPENAI_API_KEY": "simulated",
            "OPENAI_BASE_URL": base_urls(url)["openai"],
        }

    def requests_with(self, *words: str) -> list[str]:
        """Return the requests that hold all of these words."""
        return [body for body in self.bodies if all(word in body for word in words)]


@contextlib.contextmanager
def simulated(settings: Settings, playbook: Path) -> Generator[WireTap]:
    """Run the simulator with a playbook, behind a tap."""
    with kept_port() as port:
        command = ("simulate", str(playbook), "--port", str(port))
        process = subprocess.Popen(
            [sys.executable, "-m", "starter", *command],
            env=environment(settings),
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        with process, _tapped(port) as tap:
            try:
                assert process.stdout is not None
                assert "plays on" in process.stdout.readline()
                yield tap
            finally:
                process.terminate()


@contextlib.contextmanager
def _tapped(port: int) -> Generator[WireTap]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            tap.bodies.append(body.decode())
            headers = {k: v for k, v in self.headers.items() if k.lower() != "accept-encoding"}
            provider = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
            with contextlib.closing(provider):
                provider.request("POST", self.path, body, headers)
                answer = provider.getresponse()
                content = answer.read()
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.headers["Content-Type"])
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the library's)
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    tap = WireTap(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield tap
    finally:
        server.shutdown()
        server.server_close()
        thread.join(PATIENCE)
