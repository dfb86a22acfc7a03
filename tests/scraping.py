"""Metrics as Prometheus would scrape them."""

import contextlib
import socket
import urllib.request
from collections.abc import Iterable

from prometheus_client.parser import text_string_to_metric_families

Labels = frozenset[tuple[str, str]]


class Scraped:
    """The samples of some endpoints at one moment."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.samples: dict[tuple[str, Labels], float] = {}
        self.kinds: dict[str, str] = {}
        for text in texts:
            for family in text_string_to_metric_families(text):
                self.kinds[family.name] = family.type
                for each in family.samples:
                    key = (each.name, frozenset(each.labels.items()))
                    self.samples[key] = self.samples.get(key, 0.0) + each.value

    def of(self, name: str, **labels: str) -> float:
        """Return the sum of a metric's samples that have these labels."""
        wanted = frozenset(labels.items())
        return sum(
            value
            for (metric, found), value in self.samples.items()
            if metric == name and wanted <= found
        )

    def names(self) -> set[str]:
        """Return the names of all metrics, as the table has them."""
        counters = {f"{name}_total" for name, kind in self.kinds.items() if kind == "counter"}
        return counters | {name for name, kind in self.kinds.items() if kind != "counter"}


def scrape(*addresses: str) -> Scraped:
    """Scrape endpoints, by URL."""
    texts: list[str] = []
    for address in addresses:
        with urllib.request.urlopen(address, timeout=30) as answer:
            texts.append(answer.read().decode())
    return Scraped(texts)


def free_ports(count: int) -> int:
    """Return the first of so many free ports in a row."""
    for first in range(21_000, 32_000, count):
        with contextlib.ExitStack() as stack:
            try:
                for port in range(first, first + count):
                    kept = stack.enter_context(socket.socket())
                    kept.bind(("127.0.0.1", port))
            except OSError:
                continue
            return first
    raise AssertionError(f"no {count} free ports in a row")
