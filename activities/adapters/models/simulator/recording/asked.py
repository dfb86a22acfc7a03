"""What a request's body says of the conversation: how it begins, how it ends, how often it spoke.

That is all that a playbook's place is told from. It refuses nothing: whether a request is right is
for the provider to say that it goes to.
"""

import json
from collections.abc import Iterator
from itertools import groupby

from activities.adapters.models.simulator.recording.upstreams import DialectName
from activities.adapters.models.wire import Json, table, tables, text
from activities.playbook import Place, PlaybookGapError, locate
from workflows.domain.messages import AssistantMessage, Message, UserMessage
from workflows.domain.models import Role
from workflows.policy.openings import COMPACTION

_HEADER = "\n\nRole: "
"""Where a server is declared to know no system role, the instructions stand before the header."""


def body_of(raw: bytes) -> Json:
    """Return the JSON object of a request; an empty one where it is none."""
    try:
        return table(json.loads(raw))
    except (ValueError, RecursionError):
        return {}


def place_of(dialect: DialectName, body: Json) -> Place | None:
    """Say where the conversation of a request stands; None: no agent of ours leads it."""
    try:
        place = locate(_conversation(dialect, body))
    except PlaybookGapError:
        return None
    return place if place.role in set(Role) and place.attempt > 0 else None


def _conversation(dialect: DialectName, body: Json) -> list[Message]:
    said = list(_SAID[dialect](body))
    first, last = next(iter(said), ""), said[-1] if said else ""
    opening = first if dialect != "chat" or first is None else _without_instructions(first)
    messages: list[Message] = [
        AssistantMessage() if each is None else UserMessage(text=each)
        for each in (opening, *said[1:])
    ]
    if last is not None and last.endswith(COMPACTION):
        messages.append(UserMessage(text=COMPACTION))
    return messages


def _without_instructions(opening: str) -> str:
    before, header, after = opening.partition(_HEADER)
    is_header = bool(header) and not before.startswith("Role: ")
    return header.strip("\n") + after if is_header else opening


def _messages(body: Json) -> Iterator[str | None]:
    """Each text of the user, and None for each turn of the model."""
    for message in tables(body.get("messages")):
        if message.get("role") == "assistant":
            yield None
        elif message.get("role") == "user":
            yield from _texts(message.get("content"))


def _input(body: Json) -> Iterator[str | None]:
    """Items in a row that are the model's make one turn."""
    if isinstance(body.get("input"), str):
        yield text(body["input"])
    for is_users, items in groupby(tables(body.get("input")), _is_no_answer):
        if not is_users:
            yield None
            continue
        for item in items:
            if item.get("role") == "user":
                yield from _texts(item.get("content"))


def _is_no_answer(item: Json) -> bool:
    is_result = text(item.get("type")).endswith("_output")
    return is_result or item.get("role") in {"user", "system", "developer"}


def _contents(body: Json) -> Iterator[str | None]:
    for content in tables(body.get("contents")):
        if content.get("role") == "model":
            yield None
        else:
            yield from (text(p["text"]) for p in tables(content.get("parts")) if "text" in p)


def _texts(content: object) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    yield from (text(part["text"]) for part in tables(content) if "text" in part)


_SAID = {"anthropic": _messages, "chat": _messages, "openai": _input, "gemini": _contents}
