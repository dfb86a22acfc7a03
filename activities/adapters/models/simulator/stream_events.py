"""Cuts a whole answer into the events of its provider's stream.

Each provider names, nests and ends its events in its own way; together they hold exactly the
answer that is sent without a stream.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Literal, NamedTuple

from activities.adapters.models.dialects.chat_stream import END
from activities.text.foreign_json import Json, table, tables, text

Part = Literal["other", "text", "arguments", "end"]
PIECES = 3
_PARTS: Mapping[str, Part] = {"text": "text", "tool_use": "arguments"}


class Frame(NamedTuple):
    """One event of a stream."""

    data: Json
    part: Part = "other"
    """Its content; the first event of part `end` is the one that ends a whole answer."""
    event: str = ""
    """Its name in the stream; empty: none."""

    def encode(self) -> bytes:
        """Write it as a server-sent event, in plain ASCII."""
        head = f"event: {self.event}\n" if self.event else ""
        said = "[DONE]" if self.data == END else json.dumps(self.data)
        return f"{head}data: {said}\n\n".encode()


def anthropic_frames(body: Json) -> Iterator[Frame]:
    """Cut a message: it begins empty, its blocks follow, and the stop reason comes last."""
    usage = table(body.get("usage"))
    empty: Json = {"content": [], "stop_reason": None, "usage": usage | {"output_tokens": 1}}
    yield _named({"type": "message_start", "message": body | empty})
    yield _named({"type": "ping"})
    for index, block in enumerate(tables(body.get("content"))):
        yield from _block(index, block)
    delta = {"stop_reason": body["stop_reason"], "stop_sequence": None}
    count = {"output_tokens": usage.get("output_tokens")}
    yield _named({"type": "message_delta", "delta": delta, "usage": count})
    yield _named({"type": "message_stop"}, "end")


def _block(index: int, block: Json) -> Iterator[Frame]:
    kind = text(block.get("type"))
    begin, deltas = _ANTHROPIC_BLOCKS[kind](block)
    yield _named({"type": "content_block_start", "index": index, "content_block": begin})
    for delta in deltas:
        data: Json = {"type": "content_block_delta", "index": index, "delta": delta}
        yield _named(data, _PARTS.get(kind, "other"))
    yield _named({"type": "content_block_stop", "index": index})


def _thinking(block: Json) -> tuple[Json, list[Json]]:
    pieces = _pieces(text(block["thinking"]))
    deltas: list[Json] = [{"type": "thinking_delta", "thinking": piece} for piece in pieces]
    signed: Json = {"type": "signature_delta", "signature": block["signature"]}
    return {**block, "thinking": "", "signature": ""}, [*deltas, signed]


def _text(block: Json) -> tuple[Json, list[Json]]:
    pieces = _pieces(text(block["text"]))
    return {**block, "text": ""}, [{"type": "text_delta", "text": piece} for piece in pieces]


def _tool_use(block: Json) -> tuple[Json, list[Json]]:
    given = block["input"]
    written = given if isinstance(given, str) else json.dumps(given)
    pieces = ["", *_pieces(written)]
    deltas: list[Json] = [{"type": "input_json_delta", "partial_json": p} for p in pieces]
    return {**block, "input": {}}, deltas


_ANTHROPIC_BLOCKS: Mapping[str, Callable[[Json], tuple[Json, list[Json]]]] = {
    "thinking": _thinking,
    "text": _text,
    "tool_use": _tool_use,
}


def openai_frames(body: Json) -> Iterator[Frame]:
    """Cut a response: its items one by one, then the whole response again."""
    begun: Json = {**body, "status": "in_progress", "output": [], "usage": None}
    frames = [
        Frame({"type": "response.created", "response": begun}),
        Frame({"type": "response.in_progress", "response": begun}),
    ]
    for index, item in enumerate(tables(body.get("output"))):
        frames += _item(index, item)
    frames.append(Frame({"type": f"response.{body['status']}", "response": body}, "end"))
    for number, frame in enumerate(frames):
        yield _named(frame.data | {"sequence_number": number}, frame.part)


def _item(index: int, item: Json) -> Iterator[Frame]:
    place: Json = {"output_index": index, "item_id": item.get("id")}
    empty = item | {"status": "in_progress"}
    yield Frame({"type": "response.output_item.added", "output_index": index, "item": empty})
    for number, part in enumerate(tables(item.get("content"))):
        kind = "refusal" if part.get("type") == "refusal" else "output_text"
        there = place | {"content_index": number}
        for piece in _pieces(text(part.get("text")) or text(part.get("refusal"))):
            yield Frame({"type": f"response.{kind}.delta", **there, "delta": piece}, "text")
    for field, kind in _CALL_DELTAS.items():
        for piece in _pieces(text(item.get(field))):
            yield Frame({"type": f"response.{kind}.delta", **place, "delta": piece}, "arguments")
    yield Frame({"type": "response.output_item.done", "output_index": index, "item": item})


_CALL_DELTAS = {"arguments": "function_call_arguments", "input": "custom_tool_call_input"}


def chat_frames(body: Json) -> Iterator[Frame]:
    """Cut a completion: texts and arguments in pieces, the finish reason, usage, and `[DONE]`."""
    choice = tables(body["choices"])[0]
    message = table(choice.pop("message"))
    about = body | {"object": "chat.completion.chunk", "usage": None}

    def chunk(delta: Json, part: Part = "other", reason: str | None = None) -> Frame:
        told = choice | {"delta": delta, "finish_reason": reason}
        return Frame(about | {"choices": [told]}, part)

    pieces = ("content", "refusal", "tool_calls")
    yield chunk(message | dict.fromkeys(("content", "refusal")) | {"tool_calls": None})
    for field in pieces[:2]:
        for piece in _pieces(text(message.get(field))):
            yield chunk({field: piece}, "text")
    for index, call in enumerate(tables(message.get("tool_calls"))):
        function = table(call["function"])
        yield chunk({"tool_calls": [call | {"index": index, "function": function | _NOTHING}]})
        for piece in _pieces(text(function.get("arguments"))):
            said = {"index": index, "function": {"arguments": piece}}
            yield chunk({"tool_calls": [said]}, "arguments")
    yield chunk({}, "end", text(choice.get("finish_reason")))
    yield Frame(body | {"object": "chat.completion.chunk", "choices": []})
    yield Frame(END)


_NOTHING: Json = {"arguments": ""}


def gemini_frames(body: Json) -> Iterator[Frame]:
    """Cut an answer: each chunk is itself an answer, and the last has the finish reason.

    A part with a signature and a call stay whole, because Gemini never cuts them.
    """
    candidate = tables(body["candidates"])[0]
    about = {key: value for key, value in body.items() if key != "candidates"}
    for part in tables(table(candidate.get("content")).get("parts")):
        kind: Part = "arguments" if "functionCall" in part else "text"
        for piece in _part_pieces(part):
            content = {"role": "model", "parts": [piece]}
            data = about | {"candidates": [{"index": 0, "content": content}]}
            yield Frame(data, "other" if part.get("thought") else kind)
    last = candidate | {"content": {"role": "model", "parts": [{"text": ""}]}}
    yield Frame(about | {"candidates": [last]}, "end")


def _part_pieces(part: Json) -> list[Json]:
    if set(part) <= {"text", "thought"}:
        return [part | {"text": piece} for piece in _pieces(text(part.get("text")))]
    return [part]


def _named(data: Json, part: Part = "other") -> Frame:
    return Frame(data, part, text(data["type"]))


def _pieces(whole: str) -> list[str]:
    size = -(-len(whole) // PIECES) or 1
    return [whole[at : at + size] for at in range(0, len(whole), size)]


FRAMES: Mapping[str, Callable[[Json], Iterator[Frame]]] = {
    "anthropic": anthropic_frames,
    "openai": openai_frames,
    "chat": chat_frames,
    "gemini": gemini_frames,
}
"""By dialect; a dialect that is missing here does not stream."""


def error_frame(dialect: str, body: Json) -> Frame:
    """Word a failure that comes after the stream has begun.

    Args:
        dialect: the stream's.
        body: the body of the same failure as a separate answer.
    """
    if dialect == "openai":
        head: Json = {"type": "error", "sequence_number": 0}
        return _named(head | table(body["error"]) | {"type": "error"})
    return Frame(body, event="error" if dialect == "anthropic" else "")
