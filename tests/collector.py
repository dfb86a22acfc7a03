"""A collector of OpenTelemetry in this process, which keeps the spans and metrics it is sent."""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


class Collector:
    """Takes spans and metrics by OTLP over HTTP, as a collector does, or refuses them."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        self.metrics: dict[str, Any] = {}
        """By name, as they were sent last."""
        self.status = 200

    def take(self, path: str, body: bytes) -> int:
        if self.status == 200 and path.endswith("/v1/metrics"):
            for resource in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                for scope in resource.scope_metrics:
                    self.metrics |= {each.name: each for each in scope.metrics}
        elif self.status == 200:
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                for scope in resource.scope_spans:
                    self.spans += scope.spans
        return self.status


@contextmanager
def collecting() -> Generator[tuple[Collector, str]]:
    """Run a collector on a free port, and return it with its address."""
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            status = collector.take(self.path, self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(status)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  (its name)
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield collector, f"http://127.0.0.1:{server.server_port}/v1/traces"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
