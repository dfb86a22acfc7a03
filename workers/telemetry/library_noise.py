"""What libraries log about their own retries, kept out of a worker's log.

- HTTP clients and the providers' packages: everything below a warning (each request, each retry)
- the core of Temporal's SDK: warnings about calls that it repeats by itself
- Temporal's SDK about activities: expected failures (`ApplicationError`), which the histories,
  metrics and `health` show, and unexpected ones from the second attempt on
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
    Runtime.set_default(
        Runtime(telemetry=TelemetryConfig(logging=core_logging())), error_if_already_set=False
    )


def _is_news(record: logging.LogRecord) -> bool:
    """Whether a line says what is not in the history, or in an earlier line."""
    if getattr(record, "__temporal_error_identifier", None) != _FAILED:
        return True
    error = record.exc_info[1] if record.exc_info else None
    if isinstance(error, ApplicationError):
        return False
    return not activity.in_activity() or activity.info().attempt == 1
