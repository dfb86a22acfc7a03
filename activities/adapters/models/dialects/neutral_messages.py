"""Shared by all dialects: turning a provider's answer into a neutral message, and the reverse.

Arguments become a JSON object or are marked malformed, ids become unique, and a conversation that
no provider would accept is refused before it is sent. This module knows no wire format.
"""

import json
import math
import re
from collections.abc import Iterable, Sequence
from typing import NoReturn

from pydantic import JsonValue

from activities.ports.model_provider import InvalidRequestError
from activities.text.foreign_json import is_table
from activities.text.surrogates import clean, clean_table
from workflows.domain.agent.messages import AssistantMessage, Message, ToolCall, ToolMessage

MALFORMED_CHARS = 2_000
NO_OUTPUT = "(no output)"
"""Sent when a tool printed nothing, because no provider accepts an empty text block."""
NO_ANSWER = "(no answer)"
"""Sent when a model said nothing; without it the turn would vanish from the conversation."""

CUT = "cut by the output limit: "
"""Put before the arguments of a call that the limit cut: it must not run, even if its text happens
to be JSON."""
_CUT_SHORT = "your answer hit the output limit within them"
_SHOWN_CHARS = 20
_KINDS: dict[type[object], str] = {
    list: "a list",
    str: "a text",
    bool: "a truth value",
    int: "a number",
    float: "a number",
}

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_ID = re.compile(r"[A-Za-z0-9_-]{1,40}")
"""As the strictest of the providers wants it."""


def tool_call(call_id: str, name: str, arguments: object) -> ToolCall:
    """Make a neutral call from a provider's call.

    Args:
        call_id: already unique.
        name: as the model wrote it; an empty one becomes `unnamed`.
        arguments: JSON text, or parsed JSON; anything but an object is kept as `malformed`.
    """
    name = clean(name) or "unnamed"
    raw = arguments if isinstance(arguments, str) else _dump(arguments)
    try:
        value = _parse(arguments)
    except (ValueError, TypeError, RecursionError) as error:
        return ToolCall(
            id=call_id,
            name=name,
            arguments={},
            malformed=clean(raw)[:MALFORMED_CHARS],
            fault=_CUT_SHORT if raw.startswith(CUT) else clean(_fault(raw, error)),
        )
    return ToolCall(id=call_id, name=name, arguments=value)


def _parse(arguments: object) -> dict[str, JsonValue]:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    # Not strict: many models write line ends and tabs in strings as they are.
    value: object = json.loads(
        text or "{}", parse_constant=_refuse, parse_float=_finite, strict=False
    )
    if not is_table(value):
        raise TypeError(f"they are {_KINDS.get(type(value), 'null')}")
    return clean_table(value)


def _fault(raw: str, error: Exception) -> str:
    """Say what is wrong with arguments, and where."""
    if isinstance(error, RecursionError):
        return "they are nested too deeply"
    if not isinstance(error, json.JSONDecodeError):
        return str(error)
    if error.msg == "Extra data" and raw[error.pos :].startswith("{"):
        return (
            f"a second object begins at line {error.lineno}, column {error.colno}: send each call "
            "by itself"
        )
    place = f"at line {error.lineno}, column {error.colno}"
    before = raw[max(0, error.pos - _SHOWN_CHARS) : error.pos]
    behind = raw[error.pos : error.pos + _SHOWN_CHARS]
    return f"{error.msg} {place}, between {before!r} and {behind!r}"


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is out of range")
    return value


def _dump(value: object) -> str:
    try:
        return json.dumps(value)
    except (ValueError, RecursionError):
        return "(nested too deep)"


def safe_name(name: str) -> str:
    """Change a tool's name so that every provider accepts it, because models invent others."""
    safe = _NOT_IN_NAMES.sub("_", name) or "unnamed"
    return (safe if safe[0].isalpha() or safe[0] == "_" else f"_{safe}")[:64]


def unique_ids(wanted: Iterable[str | None], messages: Sequence[Message]) -> list[str]:
    """Give each call of one answer an id that no call of the conversation has.

    Args:
        wanted: the provider's ids in order; None, empty, odd and repeated ones are replaced.
        messages: the conversation that was sent.
    """
    taken = {
        call.id
        for message in messages
        if isinstance(message, AssistantMessage)
        for call in message.tool_calls
    }
    ids: list[str] = []
    for asked in wanted:
        chosen = asked if asked and _ID.fullmatch(asked) else ""
        number = len(taken) + 1
        while not chosen or chosen in taken:
            chosen = f"call_{number}"
            number += 1
        taken.add(chosen)
        ids.append(chosen)
    return ids


def check_conversation(messages: Sequence[Message]) -> None:
    """Refuse a conversation whose calls and results do not match one to one, in order.

    Raises:
        InvalidRequestError: names the message and what is wrong with it.
    """
    due: list[str] = []
    for index, message in enumerate(messages):
        results = [r.call_id for r in message.results] if isinstance(message, ToolMessage) else []
        if results != due:
            raise InvalidRequestError(
                f"message {index}: the calls {due!r} must be followed by their results in order, "
                f"not by {results!r}"
            )
        is_answer = isinstance(message, AssistantMessage)
        due = [call.id for call in message.tool_calls] if is_answer else []
    if due or isinstance(messages[-1], AssistantMessage):
        raise InvalidRequestError("the conversation must end with a user message or tool results")
