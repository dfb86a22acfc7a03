"""What a request's body says of the conversation: how it begins, how it ends, how often it spoke.

That is all that a playbook's place is told from. It refuses nothing: whether a request is right is
for the provider to say that it goes to.
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
"""Where a server is declared to know no system role, the instructions stand before the header."""
Said = str | int
"""A text of the user; or a turn of the model, by the number of its calls where they may stand one
by one."""


def body_of(raw: bytes) -> Json:
    """Return the JSON object of a request; an empty one where it is none."""
    try:
        return table(json.loads(raw))
    except (ValueError, RecursionError):
        return {}


def place_of(
    dialect: DialectName, body: Mapping[str, object], calls: Callable[[Place], int]
) -> Place | None:
    """Say where the conversation of a request stands; None: no agent of a session leads it.

    Args:
        dialect: whose form the body has.
        body: the request's.
        calls: how many calls were heard in the turn at a place; 0: it was not heard.
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
    """Count a turn once whose calls stand one by one, for a server that knows no several."""
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
    """Items in a row that are the model's make one turn."""
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
