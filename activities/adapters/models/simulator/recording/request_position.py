"""Reads a request's position in its conversation: its beginning, its end, its number of answers.

A playbook's place follows from these alone. This module refuses nothing: the provider decides
whether a request is valid.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import groupby

from activities.adapters.models.scripted.answer_choice import Place, PlaybookGapError, locate
from activities.adapters.models.simulator.recording.upstreams import DialectName
from activities.text.foreign_json import Json, table, tables, text
from workflows.domain.agent.messages import AssistantMessage, Message, UserMessage
from workflows.domain.agent.model_values import Role
from workflows.policy.agent.opening_messages import COMPACTION

_HEADER = "\n\nRole: "
"""If a server is declared to have no system role, the instructions precede the header."""
Said = str | int
"""A text of the user; or a turn of the model, as the number of its calls if they may be listed one
by one."""


def body_of(raw: bytes) -> Json:
    """Return the JSON object of a request; empty if it is not one."""
    try:
        return table(json.loads(raw))
    except (ValueError, RecursionError):
        return {}


def place_of(
    dialect: DialectName, body: Mapping[str, object], calls: Callable[[Place], int]
) -> Place | None:
    """Return the place of a request's conversation; None: it does not belong to a session's agent.

    Args:
        dialect: the body's wire format.
        body: the request's.
        calls: returns how many calls the turn at a place has; 0: it was not recorded.
    """
    said = list(_SAID[dialect](body))
    if dialect == "chat" and said and isinstance(said[0], str):
        said[0] = _without_instructions(said[0])
    try:
        place = locate(_conversation(said))
    except PlaybookGapError:
        return None
    if place.role not in set(Role) or place.attempt < 1:
        return None
    spoken = [each for each in said if isinstance(each, int)]
    return place._replace(turn=_turn(place, spoken, calls))


def _turn(place: Place, spoken: list[int], calls: Callable[[Place], int]) -> int:
    """Count a turn once even if its calls are listed one by one (no parallel calls)."""
    turn, index = place.turn - len(spoken), 0
    while index < len(spoken):
        heard = calls(place._replace(turn=turn))
        index += heard if heard > 1 and spoken[index] == 1 else 1
        turn += 1
    return turn


def _conversation(said: list[Said]) -> list[Message]:
    messages: list[Message] = [
        UserMessage(text=each) if isinstance(each, str) else AssistantMessage() for each in said
    ]
    if said and isinstance(said[-1], str) and said[-1].endswith(COMPACTION):
        messages.append(UserMessage(text=COMPACTION))
    return messages


def _without_instructions(opening: str) -> str:
    before, header, after = opening.partition(_HEADER)
    is_header = bool(header) and not before.startswith("Role: ")
    return header.strip("\n") + after if is_header else opening


def _messages(body: Mapping[str, object]) -> Iterator[Said]:
    for message in tables(body.get("messages")):
        if message.get("role") == "assistant":
            yield len(tables(message.get("tool_calls")))
        elif message.get("role") == "user":
            yield from _texts(message.get("content"))


def _input(body: Mapping[str, object]) -> Iterator[Said]:
    """Consecutive items of the model make one turn."""
    if isinstance(body.get("input"), str):
        yield text(body["input"])
    for is_users, items in groupby(tables(body.get("input")), _is_no_answer):
        if not is_users:
            yield 0
            continue
        for item in items:
            if item.get("role") == "user":
                yield from _texts(item.get("content"))


def _is_no_answer(item: Json) -> bool:
    is_result = text(item.get("type")).endswith("_output")
    return is_result or item.get("role") in {"user", "system", "developer"}


def _contents(body: Mapping[str, object]) -> Iterator[Said]:
    for content in tables(body.get("contents")):
        if content.get("role") == "model":
            yield 0
        else:
            yield from (text(p["text"]) for p in tables(content.get("parts")) if "text" in p)


def _texts(content: object) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    yield from (text(part["text"]) for part in tables(content) if "text" in part)


_SAID = {"anthropic": _messages, "chat": _messages, "openai": _input, "gemini": _contents}
