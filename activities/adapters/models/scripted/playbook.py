"""The playbook: what a scripted model says, by role, task, attempt and turn.

One pure function, `answer`, serves both the scripted provider and the HTTP simulator. It knows an
agent only by its neutral messages: the first user message begins with a header (`Role: developer`,
`Task: parse-dates`, `Attempt: 1`, and after a compaction `Turn: 12`, the turns already played), and
the turn is one more than those and the assistant messages seen. A call for a summary is not a turn.
A request without a scene is an error that names the request and the scenes: a playbook never goes
astray silently.
"""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Final, Literal, NamedTuple

from pydantic import BaseModel, BeforeValidator, Field, JsonValue, model_validator

from activities.ports.model_provider import Stop
from activities.text.foreign_json import is_table
from activities.text.text_files import TextFileError, read_text_file
from activities.yaml_documents.model_reader import parse_document
from activities.yaml_documents.source_places import DocumentError
from activities.yaml_documents.value_wording import brief
from workflows.domain.agent.messages import AssistantMessage, Message, ToolMessage, UserMessage
from workflows.domain.agent.model_values import Prices, Role, Usage
from workflows.policy.agent.opening_messages import COMPACTION

MAX_PLAYBOOK_BYTES: Final = 16_000_000

ErrorKind = Literal[
    "rate_limited",
    "unavailable",
    "auth",
    "credit",
    "context_overflow",
    "invalid",
    "cut",
    "disconnect",
    "corrupt",
    "stall",
]
STREAM_FAULTS: Final = frozenset({"cut", "disconnect", "corrupt", "stall"})
"""Faults of an answer in transit, not answers of the provider."""


class PlaybookError(Exception):
    """The playbook has no answer.

    PlaybookError
    ├── PlaybookGapError      no scene matches, or the matching scene has no such turn
    └── PlaybookStrayedError  the last message does not hold the turn's `expect`
    """


class PlaybookGapError(PlaybookError):
    """Nothing in the playbook answers here."""


class PlaybookStrayedError(PlaybookError):
    """The conversation is not at the place that the playbook assumes."""


class ScriptedCall(BaseModel, frozen=True, extra="forbid"):
    """One tool call: `{bash: {command: ls}}`, or spelled out with `name`, `arguments` and `id`."""

    name: str
    arguments: JsonValue = Field(default_factory=dict)
    """Anything but a mapping is what a confused model sends; a string is the raw argument text."""
    id: str | None = None
    """The provider's id in the wire format; None: one is made up."""

    @model_validator(mode="before")
    @classmethod
    def _shorthand(cls, value: object) -> object:
        if not is_table(value):
            # pydantic reports only a ValueError as an error of validation
            raise ValueError("a call is written {tool: {argument: value}}")
        if isinstance(value.get("name"), str):
            return value
        if len(value) != 1:
            names = ", ".join(map(brief, value))
            raise ValueError(f"a call names one tool, not {len(value)}: {names}")
        ((name, arguments),) = value.items()
        return {"name": name, "arguments": {} if arguments is None else arguments}


class ScriptedError(BaseModel, frozen=True, extra="forbid"):
    """A failure of the provider."""

    kind: ErrorKind
    retry_after: float | str | None = None
    """Seconds, or the header's text as it is (a date, nonsense)."""
    at: Literal["start", "text", "arguments", "end"] | None = None
    """Where it occurs in the streamed answer: before everything, in the middle of the text or of a
    call's arguments, or after everything except the announced end. None: an error replaces the
    answer; a fault of the stream is in its middle."""
    times: int | None = Field(default=None, gt=0)
    """How many requests fail before the turn's answer comes; None: all."""


class ScriptedUsage(BaseModel, frozen=True, extra="forbid"):
    """Tokens of one turn; missing values come from the playbook's `usage`."""

    input_tokens: int | None = Field(default=None, ge=0)
    cached_input_tokens: int | None = Field(default=None, ge=0)
    cache_write_tokens: int | None = Field(default=None, ge=0)
    cache_write_5m_tokens: int | None = Field(default=None, ge=0)
    output_tokens: int | None = Field(default=None, ge=0)

    def over(self, default: Usage) -> Usage:
        """Return `default` with the values given here."""
        return Usage.model_validate(default.model_dump() | self.model_dump(exclude_none=True))


def _as_tuple(value: object) -> object:
    return (value,) if isinstance(value, str) else value


class ScriptedTurn(BaseModel, frozen=True, extra="forbid"):
    """One answer, or one failure."""

    text: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    usage: ScriptedUsage = ScriptedUsage()
    latency_s: float | None = Field(default=None, ge=0, le=3600)
    chunk_latency_s: float = Field(default=0, ge=0, le=3600)
    """The delay before each piece of a streamed answer except the first."""
    stop: Stop | None = None
    """None: `tool_calls` if there are calls, else `end`."""
    error: ScriptedError | None = None
    expect: Annotated[tuple[str, ...], BeforeValidator(_as_tuple)] = ()
    """Texts that the last tool or user message must hold."""
    repeat: int = Field(default=1, ge=1, le=10_000)
    """For how many turns in a row this is the answer."""

    @model_validator(mode="after")
    def _one_meaning(self) -> "ScriptedTurn":
        speaks = bool(self.text or self.calls or self.stop)
        lasting = self.error is not None and self.error.times is None
        at = self.error.at if self.error is not None else None
        if speaks and lasting and at is None:
            raise ValueError("an error without `times` never lets the text or the calls come")
        if (at == "text" and not self.text) or (at == "arguments" and not self.calls):
            raise ValueError(f"an error `at: {at}` needs {at} in which it can come")
        if not speaks and not lasting:
            raise ValueError("a turn needs `text`, `calls`, `stop` or an `error` without `times`")
        return self


class Scene(BaseModel, frozen=True, extra="forbid"):
    """The turns of one role; narrowed to a task, an attempt, a place in the conversation."""

    role: Role
    task: str | None = None
    """A task id or a glob over ids; None: any."""
    attempt: int | None = Field(default=None, ge=1)
    turn: int | None = Field(default=None, ge=1)
    """Overrides as many turns, from this one on, as `turns` has; None: the whole play."""
    turns: tuple[ScriptedTurn, ...] = Field(min_length=1)

    def __str__(self) -> str:
        parts = [f"role {self.role.value}"]
        parts += [f"task {self.task!r}"] if self.task is not None else []
        parts += [f"attempt {self.attempt}"] if self.attempt is not None else []
        first = self.turn or 1
        last = first - 1 + sum(turn.repeat for turn in self.turns)
        return ", ".join([*parts, f"turns {first}-{last}"])


class Playbook(BaseModel, frozen=True, extra="forbid"):
    """Everything that a scripted model can say."""

    schema_version: Literal[1] = Field(alias="schema")
    name: str = Field(min_length=1)
    usage: Usage = Usage()
    """Tokens of a turn that has no usage of its own."""
    prices: Prices | None = None
    """The pretended prices of scripted models, so that money can be watched; None: none."""
    latency_s: float = Field(default=0, ge=0, le=3600)
    compaction: str = Field(default="The playbook goes on after its header.", min_length=1)
    """The summary for an agent that asks for one; it is not a turn of the play."""
    scenes: tuple[Scene, ...] = Field(min_length=1)


class Place(NamedTuple):
    """A position in a conversation."""

    role: str
    task: str | None
    attempt: int
    turn: int
    """Counted from 1 over the agent's whole life, compactions included."""
    is_compaction: bool = False
    """Asked for a summary, between two turns."""

    def __str__(self) -> str:
        task = "no task" if self.task is None else f"task {self.task!r}"
        return f"role {self.role!r}, {task}, attempt {self.attempt}, turn {self.turn}"


class ScriptedAnswer(BaseModel, frozen=True, extra="forbid"):
    """The playbook's answer at a place, with every default filled in."""

    text: str
    calls: tuple[ScriptedCall, ...]
    stop: Stop
    usage: Usage
    latency_s: float
    chunk_latency_s: float
    error: ScriptedError | None
    """Not None: the provider fails this time, and the rest is not used."""


def parse_playbook(text: str, name: str) -> Playbook:
    """Parse a playbook from its YAML.

    Raises:
        DocumentError: with file, line and column of up to ten mistakes.
    """
    return parse_document(Playbook, text, name, keeps_halves=True)


def read_playbook(path: Path) -> Playbook:
    """Read a playbook from its file.

    Raises:
        DocumentError: with file, line and column of up to ten mistakes; or it is missing, not
            text, or longer than `MAX_PLAYBOOK_BYTES`.
        OSError: the file cannot be read.
    """
    try:
        return parse_playbook(read_text_file(path, MAX_PLAYBOOK_BYTES), str(path))
    except TextFileError as error:
        raise DocumentError(str(error)) from error


def locate(conversation: Sequence[Message]) -> Place:
    """Return a conversation's position, from its header and its length.

    Raises:
        PlaybookGapError: the first message is not a user message with a `Role:` line.
    """
    first = conversation[0] if conversation else None
    header = _header(first.text) if isinstance(first, UserMessage) else {}
    if "Role" not in header:
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
    """Return the scripted model's answer to a conversation.

    Args:
        playbook: the possible answers.
        conversation: the neutral messages so far.
        asked: how often this turn was already requested; it decides whether an error with
            `times` still occurs.

    Raises:
        PlaybookGapError: no scene has this turn.
        PlaybookStrayedError: the turn expects a different conversation.
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
    """Overrides first, then the narrowest whole play; a play that ran out has no fallback."""
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
