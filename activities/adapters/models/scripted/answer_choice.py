"""Which answer of a playbook is played: the scene that fits a conversation, and its turn.

One pure function, `answer`, serves the scripted provider and the HTTP simulator alike. It knows an
agent by its neutral messages alone: a user message before the first answer begins with a header
(`Role: developer`, `Task: parse-dates`, `Attempt: 1`, and after a compaction `Turn: 12`, the turns
already played), and the turn is one more than those and the assistant messages seen. A call for a
summary is not a turn. Other agents' command lines say things of their own before the user's words.
Whatever has no scene is an error that names what was asked and what there is: a playbook never goes
astray silently.
"""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from itertools import takewhile
from typing import NamedTuple

from pydantic import BaseModel

from activities.adapters.models.scripted.playbook import (
    Playbook,
    Scene,
    ScriptedCall,
    ScriptedError,
    ScriptedTurn,
)
from activities.ports.model_provider import Stop
from workflows.domain.agent.messages import AssistantMessage, Message, ToolMessage, UserMessage
from workflows.domain.agent.model_values import Usage
from workflows.policy.agent.opening_messages import COMPACTION


class PlaybookError(Exception):
    """The playbook has no answer.

    PlaybookError
    ├── PlaybookGapError      no scene fits, or the scene that fits has no such turn
    └── PlaybookStrayedError  the turn's `expect` is not in what the agent was just told
    """


class PlaybookGapError(PlaybookError):
    """Nothing in the playbook answers here."""


class PlaybookStrayedError(PlaybookError):
    """The conversation is not where the playbook believes it to be."""


class Place(NamedTuple):
    """Where a conversation stands."""

    role: str
    task: str | None
    attempt: int
    turn: int
    """Counted from 1 over the agent's whole life, compactions included."""
    is_compaction: bool = False
    """Asked for a summary, which stands between two turns."""

    def __str__(self) -> str:
        task = "no task" if self.task is None else f"task {self.task!r}"
        return f"role {self.role!r}, {task}, attempt {self.attempt}, turn {self.turn}"


class ScriptedAnswer(BaseModel, frozen=True, extra="forbid"):
    """What the playbook says here, with every default filled in."""

    text: str
    calls: tuple[ScriptedCall, ...]
    stop: Stop
    usage: Usage
    latency_s: float
    chunk_latency_s: float
    error: ScriptedError | None
    """Not None: the provider fails this time, and the rest is not said."""


def locate(conversation: Sequence[Message]) -> Place:
    """Say where a conversation stands, from its header and its length.

    Raises:
        PlaybookGapError: no user message before the first answer begins with a `Role:` line.
    """
    opening = takewhile(lambda message: not isinstance(message, AssistantMessage), conversation)
    headers = [_header(message.text) for message in opening if isinstance(message, UserMessage)]
    header = next((each for each in headers if "Role" in each), None)
    if header is None:
        raise PlaybookGapError("the first user message must begin with a line `Role: …`")
    spoken = sum(isinstance(message, AssistantMessage) for message in conversation)
    return Place(
        role=header["Role"],
        task=header.get("Task"),
        attempt=_number(header, "Attempt", 1),
        turn=_number(header, "Turn", 0) + spoken + 1,
        is_compaction=conversation[-1] == UserMessage(text=COMPACTION),
    )


def answer(playbook: Playbook, conversation: Sequence[Message], asked: int = 0) -> ScriptedAnswer:
    """Say what the scripted model answers to this conversation.

    Args:
        playbook: what it may say.
        conversation: the neutral messages so far.
        asked: how often this same turn was asked for before; it decides whether an error with
            `times` still comes.

    Raises:
        PlaybookGapError: no scene has this turn.
        PlaybookStrayedError: the turn expects something else to have happened.
    """
    place = locate(conversation)
    turn = _turn_at(playbook, place)
    error = turn.error
    if error is not None and error.times is not None and asked >= error.times:
        error = None
    if error is None:
        _require(turn.expect, conversation[-1], place)
    return ScriptedAnswer(
        text=turn.text,
        calls=turn.calls,
        stop=turn.stop or ("tool_calls" if turn.calls else "end"),
        usage=turn.usage.over(playbook.usage),
        latency_s=playbook.latency_s if turn.latency_s is None else turn.latency_s,
        chunk_latency_s=turn.chunk_latency_s,
        error=error,
    )


def _turn_at(playbook: Playbook, place: Place) -> ScriptedTurn:
    """Overrides first, then the narrowest whole play; a play that ran out does not fall through."""
    if place.is_compaction:
        return ScriptedTurn(text=playbook.compaction)
    fitting = sorted((s for s in playbook.scenes if _fits(s, place)), key=_breadth)
    for scene in [*(s for s in fitting if s.turn), *[s for s in fitting if not s.turn][:1]]:
        turn = _turn_of(scene, place.turn)
        if turn is not None:
            return turn
    there = "; ".join(str(scene) for scene in playbook.scenes)
    raise PlaybookGapError(f"playbook {playbook.name!r} has no answer for {place}; it has: {there}")


def _fits(scene: Scene, place: Place) -> bool:
    return (
        scene.role.value == place.role
        and (scene.task is None or fnmatchcase(place.task or "", scene.task))
        and scene.attempt in {None, place.attempt}
    )


def _breadth(scene: Scene) -> tuple[int, bool]:
    """Narrow before broad: an exact task, a glob, none; a given attempt before any."""
    if scene.task is None:
        return 2, scene.attempt is None
    return int(any(sign in scene.task for sign in "*?[")), scene.attempt is None


def _turn_of(scene: Scene, number: int) -> ScriptedTurn | None:
    left = number - (scene.turn or 1)
    if left < 0:
        return None
    for turn in scene.turns:
        if left < turn.repeat:
            return turn
        left -= turn.repeat
    return None


def _require(expected: Sequence[str], last: Message, place: Place) -> None:
    said = _said(last)
    for text in expected:
        if text not in said:
            raise PlaybookStrayedError(
                f"at {place} the playbook expects {text!r} in the last message, "
                f"which begins {said[:300]!r}"
            )


def _said(message: Message) -> str:
    if isinstance(message, ToolMessage):
        return "\n".join(result.text for result in message.results)
    return message.text


_DIGITS = 6
_HEADER_LINE = re.compile(r"(Role|Task|Attempt|Turn): (.*)")


def _header(text: str) -> dict[str, str]:
    header: dict[str, str] = {}
    for line in text.splitlines():
        match = _HEADER_LINE.fullmatch(line.rstrip())
        if match is None:
            break
        header.setdefault(match[1], match[2])
    return header


def _number(header: dict[str, str], key: str, default: int) -> int:
    value = header.get(key, str(default))
    if not (value.isascii() and value.isdigit() and len(value) <= _DIGITS):
        raise PlaybookGapError(f"the header's `{key}:` must be a number, not {value!r}")
    return int(value)
