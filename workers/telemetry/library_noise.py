"""What libraries log about their own retries, kept out of a worker's log.

- HTTP clients and the providers' packages: everything below a warning (each request, each retry)
- the core of Temporal's SDK: warnings about calls that it repeats by itself
- Temporal's SDK about activities: expected failures (`ApplicationError`), which the histories,
  metrics and `health` show, and unexpected ones from the second attempt on
- OpenTelemetry's exporters: the same trouble with the collector again, within an hour
"""

import logging
from typing import Final

from temporalio import activity
from temporalio.exceptions import ApplicationError
from temporalio.runtime import (
    LogForwardingConfig,
    LoggingConfig,
    Runtime,
    TelemetryConfig,
    TelemetryFilter,
)

_OWN: Final = ("activities", "starter", "workers", "workflows")
_OF_CODE: Final = ("temporalio.activity", "temporalio.workflow")
"""The loggers that activities and workflows write to."""
_CORE: Final = "temporalio.core"
_FAILED: Final = "ActivityFailure"
_EXPORTERS: Final = tuple(
    f"opentelemetry.exporter.otlp.proto.http.{kind}_exporter" for kind in ("trace", "metric")
)
_AGAIN_SECONDS: Final = 3_600.0


def core_logging() -> LoggingConfig:
    """Return how the SDK's core logs: errors only, as lines of this process's log."""
    return LoggingConfig(
        filter=TelemetryFilter(core_level="ERROR", other_level="ERROR"),
        forwarding=LogForwardingConfig(logger=logging.getLogger(_CORE)),
    )


def leave_out_noise() -> None:
    """Let libraries log warnings only, and no repeated failures; for a worker's process."""
    logging.getLogger().setLevel(logging.WARNING)
    for name in (*_OWN, *_OF_CODE):
        logging.getLogger(name).setLevel(logging.INFO)
    logging.getLogger("temporalio.activity").addFilter(_is_news)
    for name in _EXPORTERS:
        logging.getLogger(name).addFilter(_Hourly())
    Runtime.set_default(
        Runtime(telemetry=TelemetryConfig(logging=core_logging())), error_if_already_set=False
    )


class _Hourly(logging.Filter):
    """Passes each kind of line once an hour, whatever its figures."""

    def __init__(self) -> None:
        super().__init__()
        self._passed: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Tell whether a line of its kind has not passed for an hour."""
        kind = str(record.msg)
        if record.created - self._passed.get(kind, -_AGAIN_SECONDS) < _AGAIN_SECONDS:
            return False
        self._passed[kind] = record.created
        return True


def _is_news(record: logging.LogRecord) -> bool:
    """Whether a line says what is not in the history, or in an earlier line."""
    if getattr(record, "__temporal_error_identifier", None) != _FAILED:
        return True
    error = record.exc_info[1] if record.exc_info else None
    if isinstance(error, ApplicationError):
        return False
    return not activity.in_activity() or activity.info().attempt == 1
