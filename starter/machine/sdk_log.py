"""What Temporal's client library notes of its own retries: for a log file, never for a terminal.

A person hears of a server that does not answer, or of a full disk, in Blue Flame's words.
"""

import functools
import logging
from typing import Final

LOGGER: Final = "blueflame.sdk"


@functools.cache
def keep_off_the_terminal() -> None:
    """Send what the library's core notes in this process to the logger `LOGGER`; once."""
    from temporalio.runtime import (
        LogForwardingConfig,
        LoggingConfig,
        Runtime,
        TelemetryConfig,
        TelemetryFilter,
    )

    logger = logging.getLogger(LOGGER)
    logger.propagate = False
    # Without any handler Python would write warnings to the error stream.
    logger.addHandler(logging.NullHandler())
    logged = LoggingConfig(
        filter=TelemetryFilter(core_level="WARN", other_level="ERROR"),
        forwarding=LogForwardingConfig(logger=logger),
    )
    Runtime.set_default(
        Runtime(telemetry=TelemetryConfig(logging=logged)), error_if_already_set=False
    )
