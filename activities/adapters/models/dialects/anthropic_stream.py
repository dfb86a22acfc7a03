"""Assembles the Messages stream: events become the JSON of a whole message.

The message begins empty, deltas fill its blocks, and `message_stop` ends it. Arguments come as text
in pieces. If they are not JSON in the end they stay text, which the reader reports as malformed.
"""

import json

from activities.adapters.models.error_classes import Reported, decide
from activities.ports.model_provider import OutcomeUnknownError
from activities.text.foreign_json import Json, is_list, is_table, table, text

_FIELDS = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
}
"""Deltas that extend the field of the same name."""


class MessageAssembly:
    """One message; implements `activities.adapters.models.streams.Assembly`."""

    def __init__(self) -> None:
        self.is_whole = False
        self.has_begun = False
        self._message: Json = {}
        self._blocks: list[tuple[int, Json]] = []
        """Each with its number; some servers give several blocks the same one."""
        self._open: dict[int, tuple[Json, list[str]]] = {}

    def take(self, event: Json) -> None:
        """See the protocol; unknown kinds of events carry no content."""
        match event.get("type"):
            case "message_start":
                self._message = table(event.get("message"))
            case "content_block_start":
                self._begin(_index(event), table(event.get("content_block")))
            case "content_block_delta":
                self._lengthen(_index(event), table(event.get("delta")))
            case "content_block_stop":
                self._end(_index(event))
            case "message_delta":
                self._settle(table(event.get("delta")), table(event.get("usage")))
            case "error":
                raise decide(_failure(table(event.get("error"))))
            case "message_stop":
                self._require(not self._open, "a block was never ended")
                self.is_whole = True
            case _:
                pass

    def body(self) -> Json:
        """See the protocol."""
        blocks = [block for _, block in sorted(self._blocks, key=lambda each: each[0])]
        return self._message | {"content": blocks}

    def _begin(self, index: int, block: Json) -> None:
        self.has_begun = True
        self._end(index)
        begun = dict(block)
        self._blocks.append((index, begun))
        self._open[index] = (begun, [])

    def _lengthen(self, index: int, delta: Json) -> None:
        self._require(index in self._open, "a piece belongs to no open block")
        (block, pieces), kind = self._open[index], text(delta.get("type"))
        if kind == "input_json_delta":
            pieces.append(text(delta.get("partial_json")))
        elif kind == "citations_delta":
            before = block.get("citations")
            block["citations"] = [*(before if is_list(before) else ()), delta.get("citation")]
        elif kind in _FIELDS:
            field = _FIELDS[kind]
            block[field] = text(block.get(field)) + text(delta.get(field))

    def _end(self, index: int) -> None:
        block, pieces = self._open.pop(index, (Json(), []))
        if pieces:
            block["input"] = _arguments("".join(pieces))

    def _settle(self, delta: Json, usage: Json) -> None:
        """The last counts are totals so far, and replace those from the beginning."""
        counted = {key: value for key, value in usage.items() if value is not None}
        before = table(self._message.get("usage"))
        self._message = self._message | delta | {"usage": before | counted}

    def _require(self, condition: object, fault: str) -> None:
        if not condition:
            raise OutcomeUnknownError(f"the stream is damaged: {fault}")


def _index(event: Json) -> int:
    index = event.get("index")
    return index if isinstance(index, int) else -1


def _failure(error: Json) -> Reported:
    kind = text(error.get("type")) or "api_error"
    code = text(table(error.get("details")).get("error_code"))
    return Reported(
        provider="anthropic",
        status=200,
        codes=frozenset({kind, code} - {""}),
        message=text(error.get("message")) or kind,
    )


def _arguments(pieces: str) -> Json | str:
    try:
        value: object = json.loads(pieces)
    except (ValueError, RecursionError):
        return pieces
    return value if is_table(value) else pieces
