"""The Chat Completions stream: chunks of one choice, and `[DONE]` behind the last.

Servers differ in what they put where, so a chunk is read leniently, but `[DONE]` is required: it is
all that tells a whole answer from one that was cut.
"""

import json
from collections.abc import AsyncIterator
from typing import Final, cast

from activities.adapters.models.chat_completions import failure
from activities.adapters.models.verdicts import decide
from activities.adapters.models.wire import Json, table, tables, text

_DONE: Final = "[DONE]"
_END: Json = {"done": True}


async def chunks(lines: AsyncIterator[str]) -> AsyncIterator[Json]:
    """Read the events of a stream of lines; its end comes as `{"done": true}`.

    Raises:
        ValueError: an event is no JSON.
    """
    async for line in lines:
        field, _, value = line.partition(":")
        if field == "data":
            data = value.strip()
            yield _END if data == _DONE else table(json.loads(data))


class ChunkAssembly:
    """One answer; implements `activities.adapters.models.streams.Assembly`."""

    def __init__(self, provider: str) -> None:
        """Args: the server's name, for what its errors say."""
        self.is_whole = False
        self.has_begun = False
        self._provider = provider
        self._about: Json = {}
        self._message: Json = {}
        self._calls: dict[object, Json] = {}
        self._reason: object = None

    def take(self, event: Json) -> None:
        """See the protocol."""
        if event is _END:
            self.is_whole = True
            return
        choice = next(iter(tables(event.get("choices"))), Json())
        reported = failure(self._provider, event) or failure(self._provider, choice)
        if reported is not None:
            raise decide(reported)
        # Every chunk repeats the facts; the usage stands in one, and is null in the others.
        self._about |= {k: v for k, v in event.items() if k != "choices" and v is not None}
        self._reason = choice.get("finish_reason") or self._reason
        for key, value in table(choice.get("delta")).items():
            self._add(key, value)

    def _add(self, key: str, value: object) -> None:
        if key == "tool_calls":
            for call in tables(value):
                self._add_call(call)
        elif isinstance(value, str) and key != "role":
            self._message[key] = text(self._message.get(key)) + value
            self.has_begun = self.has_begun or bool(value)
        elif isinstance(value, list):
            before = cast("list[object]", self._message.get(key) or [])
            self._message[key] = [*before, *cast("list[object]", value)]
        elif value is not None:
            self._message[key] = value

    def _add_call(self, delta: Json) -> None:
        """Add to the call of its index; without an index, a new id begins a new call."""
        self.has_begun = True
        index = delta.get("index")
        if index is None:
            index = delta.get("id") or next(reversed(self._calls), None)
        fresh: Json = {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
        call = self._calls.setdefault(index, fresh)
        function, more = table(call["function"]), table(delta.get("function"))
        call["id"] = call["id"] or text(delta.get("id"))
        function["name"] = function["name"] or text(more.get("name"))
        arguments = more.get("arguments")
        piece = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
        function["arguments"] += piece if "arguments" in more else ""

    def body(self) -> Json:
        """See the protocol."""
        message = self._message | ({"tool_calls": [*self._calls.values()]} if self._calls else {})
        return self._about | {"choices": [{"message": message, "finish_reason": self._reason}]}
