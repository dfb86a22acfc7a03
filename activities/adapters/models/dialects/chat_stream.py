"""Assembles the Chat Completions stream: chunks become the JSON of a whole answer.

The chunk with a finish reason ends the answer. Only usage, if the server sends any, and `[DONE]`,
which the SDK removes, may follow. Servers number the calls in several ways.
"""

import json
from collections.abc import AsyncIterator

from activities.text.foreign_json import Json, is_list, is_table, table, tables, text

END: Json = {"object": "stream.end"}
"""Stands for `[DONE]`, or for the end of the stream if a server does not send it."""

_TEXTS = ("content", "refusal", "reasoning_content", "reasoning")
"""Fields that arrive in pieces; all others arrive whole."""


class ChatAssembly:
    """One answer; implements `activities.adapters.models.streams.Assembly`."""

    def __init__(self) -> None:
        self.is_whole = False
        self.has_begun = False
        self.is_answered = False
        """The finish reason has arrived: only usage may be missing."""
        self._body: Json = {}
        self._choice: Json = {}
        self._message: Json = {}
        self._calls: list[Json] = []
        self._at: dict[int, Json] = {}

    def take(self, event: Json) -> None:
        """See the protocol."""
        if event == END:
            self.is_whole = self.is_answered
            return
        choice = next(iter(tables(event.get("choices"))), Json())
        delta = table(choice.pop("delta", None))
        self._add(delta)
        for key, value in choice.items():
            if value is not None or key not in self._choice:
                self._choice[key] = value
        self.is_answered = bool(self._choice.get("finish_reason"))
        counted = table(event.get("usage"))
        about = {key: value for key, value in event.items() if key not in {"choices", "usage"}}
        self._body |= about | ({"usage": counted} if counted else {})
        self.is_whole = self.is_answered and bool(counted)

    def body(self) -> Json:
        """See the protocol."""
        calls = {"tool_calls": self._calls} if self._calls else {}
        choice = self._choice | {"message": self._message | calls}
        return self._body | {"object": "chat.completion", "choices": [choice]}

    def _add(self, delta: Json) -> None:
        for key, value in delta.items():
            if key == "tool_calls":
                for piece in tables(value):
                    self._add_call(piece)
            elif key == "function_call":
                self._add_call({"function": value})
            elif key in _TEXTS and isinstance(value, str):
                self._message[key] = text(self._message.get(key)) + value
            elif is_list(value) and is_list(before := self._message.get(key)):
                self._message[key] = [*before, *value]
            elif value is not None or key not in self._message:
                self._message[key] = value
        self.has_begun = self.has_begun or any(v for k, v in delta.items() if k != "role")

    def _add_call(self, piece: Json) -> None:
        call = self._call(piece)
        function = table(piece.get("function"))
        known = table(call.get("function"))
        call |= {k: v for k, v in piece.items() if k not in {"index", "function"} and v}
        arguments = function.get("arguments")
        if isinstance(arguments, str):
            arguments = text(known.get("arguments")) + arguments
        name = text(function.get("name")) or text(known.get("name"))
        more = {} if arguments is None else {"arguments": arguments}
        call["function"] = known | {"name": name} | more

    def _call(self, piece: Json) -> Json:
        """Find the call that a piece belongs to, or begin one.

        | the piece                                          | belongs to           |
        |----------------------------------------------------|----------------------|
        | has an id that the call of its number lacks        | a new call           |
        | has a name, no id, and that call is complete, or   | a new call           |
        | has another name                                   |                      |
        | has a number that came before                      | that number's call   |
        | has a new number, or no number and an id           | a new call           |
        | has neither number nor id                          | the last call        |
        """
        index, call_id = piece.get("index"), text(piece.get("id"))
        known = self._at.get(index) if isinstance(index, int) else None
        if known is None and index is None and not call_id and self._calls:
            known = self._calls[-1]
        is_same = known is not None and call_id in {"", known.get("id", call_id)}
        if known is not None and is_same and (call_id or not _begins(piece, known)):
            return known
        begun: Json = {}
        self._calls.append(begun)
        if isinstance(index, int):
            self._at[index] = begun
        return begun


def _begins(piece: Json, known: Json) -> bool:
    """Say whether a piece begins another call than its number's: some servers glue them."""
    name = text(table(piece.get("function")).get("name"))
    before = table(known.get("function"))
    if not name or not text(before.get("name")):
        return False
    return name != before["name"] or _is_object(before.get("arguments"))


def _is_object(arguments: object) -> bool:
    try:
        value: object = json.loads(arguments) if isinstance(arguments, str) else arguments
    except (ValueError, RecursionError):
        return False
    return is_table(value)


async def announced(events: AsyncIterator[object], assembly: ChatAssembly) -> AsyncIterator[object]:
    """Pass events on, and announce the end; errors after the finish reason lose nothing."""
    try:
        async for event in events:
            yield event
    except Exception:
        if not assembly.is_answered:
            raise
    yield END
