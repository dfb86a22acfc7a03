"""Reads outcomes of activities that a newer release made: what this one does not know is left out.

After an upgrade an older build's workflows get their outcomes from the new release's activities. A
field that the new release added must not end the older build's sessions. Everything else (requests,
decisions, a session's start) is read strictly: there an unknown field may be a limit that someone
set.
"""

import functools
import json
from collections.abc import Sequence
from typing import Any, cast

from pydantic import ValidationError
from temporalio.api.common.v1 import Payload
from temporalio.contrib.pydantic import PydanticJSONPlainPayloadConverter
from temporalio.converter import (
    CompositePayloadConverter,
    DefaultPayloadConverter,
    EncodingPayloadConverter,
)


class TolerantJson(PydanticJSONPlainPayloadConverter):
    """Pydantic's converter, which leaves out unknown fields of outcomes."""

    def from_payload(self, payload: Payload, type_hint: type | None = None) -> Any:
        """Return the payload as the type; see the SDK.

        Raises:
            ValidationError: it does not fit the type, and not only because of unknown fields.
        """
        try:
            return super().from_payload(payload, type_hint)
        except ValidationError as error:
            unknown = [each["loc"] for each in error.errors() if each["type"] == "extra_forbidden"]
            if len(unknown) < error.error_count() or type_hint not in outcomes():
                raise
            known = _without(json.loads(payload.data), unknown)
            reduced = Payload(metadata=payload.metadata, data=json.dumps(known).encode())
            return super().from_payload(reduced, type_hint)


class TolerantPayloadConverter(CompositePayloadConverter):
    """The SDK's converters for Pydantic, with `TolerantJson` for JSON."""

    def __init__(self) -> None:
        """Take the SDK's other converters as they are."""
        super().__init__(*_converters())


@functools.cache
def _converters() -> tuple[EncodingPayloadConverter, ...]:
    """Return what all instances share.

    The SDK makes an instance for each task of a workflow: a tenth of that worker's time, and each
    would learn all types again.
    """
    converter = TolerantJson()
    others = DefaultPayloadConverter.default_encoding_payload_converters
    return tuple(each if each.encoding != converter.encoding else converter for each in others)


@functools.cache
def outcomes() -> tuple[object, ...]:
    """Return the types of all outcomes of activities."""
    # Commands read no outcome, and all contracts take them longer than what they do.
    from workflows.contracts import (
        gate_contracts,
        host_contracts,
        hosting_contracts,
        land_contracts,
        merging_contracts,
        model_contracts,
    )
    from workflows.contracts.contract import Contract

    modules = (
        *(hosting_contracts, land_contracts, host_contracts),
        *(gate_contracts, merging_contracts, model_contracts),
    )
    values = [value for module in modules for value in vars(module).values()]
    return tuple(value.outcome for value in values if isinstance(value, Contract))


def _without(value: object, places: Sequence[tuple[int | str, ...]]) -> object:
    """Remove the values at some places; names of union members in a place are passed over."""
    for place in places:
        at: object = value
        for part in place[:-1]:
            if isinstance(at, dict):
                fields = cast("dict[str, object]", at)
                at = fields.get(str(part), fields)
            elif isinstance(at, list) and isinstance(part, int):
                at = cast("list[object]", at)[part]
        if isinstance(at, dict):
            cast("dict[str, object]", at).pop(str(place[-1]), None)
    return value
