"""What activities and adapters tell of themselves beside their outcomes: measurements, by name.

`workers.telemetry.metric_table` has the one table of names, kinds and labels. As with Temporal's
`activity.info()`, who takes the measurements follows from the activity that runs; outside of one,
and where metrics are off, no one does.
"""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol


class Measure(Protocol):
    """Takes measurements."""

    def __call__(self, metric: str, value: float = 1.0, **labels: str) -> None:
        """Add to a counter, observe a value for a histogram, or set a gauge.

        Args:
            metric: a name of the table.
            value: in the metric's unit.
            labels: exactly those of the metric; a value that the table does not know counts as
                `other`.
        """
        ...


class ShowRows(Protocol):
    """Shows gauges that exist only as long as what they measure: of each open session."""

    def __call__(self, metric: str, rows: Sequence[tuple[float, Mapping[str, str]]]) -> None:
        """Replace all that the metric showed before.

        Args:
            metric: a name of the table whose rows are replaced.
            rows: each value in the metric's unit, with exactly the metric's labels.
        """
        ...


def _ignore(metric: str, value: float = 1.0, **labels: str) -> None:
    del metric, value, labels


_taker: ContextVar[Measure] = ContextVar("measure", default=_ignore)


def measure(metric: str, value: float = 1.0, **labels: str) -> None:
    """Pass a measurement on, if something in this process takes it; see `Measure`."""
    _taker.get()(metric, value, **labels)


@contextmanager
def measured_by(taker: Measure) -> Generator[None]:
    """Let `taker` take what is measured while the block runs, also in tasks that it starts."""
    token = _taker.set(taker)
    try:
        yield
    finally:
        _taker.reset(token)
