"""What is read of an event of a workflow's history, and of the payloads in it."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

from temporalio.api.common.v1 import Payload, Payloads
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client

from activities.ports.blob_store_port import BlobMissingError

_PLAIN: Final = b"json/plain"


def time_of(event: HistoryEvent) -> datetime:
    """Return when the event was recorded, in UTC."""
    return event.event_time.ToDatetime(UTC)


async def decoded(client: Client, given: Payloads, kind: Any) -> object:
    """Return the first payload as `kind`; None if it cannot be read here.

    Payloads that were too large for the history are in the store that all workers share.
    """
    payloads: Sequence[Payload] = given.payloads
    if kind is str and len(payloads) == 1 and payloads[0].metadata.get("encoding") == _PLAIN:
        return _text(payloads[0])  # a summary: there is one for each activity
    try:
        return (await client.data_converter.decode(payloads, [kind]))[0]
    except (BlobMissingError, OSError, ValueError, RuntimeError):
        return None


def _text(payload: Payload) -> object:
    try:
        return json.loads(payload.data)
    except ValueError:
        return None


async def summary_of(client: Client, event: HistoryEvent) -> str:
    """Return the summary that the workflow gave to what the event starts; empty without one."""
    found = await decoded(client, Payloads(payloads=[event.user_metadata.summary]), str)
    return found if isinstance(found, str) else ""
