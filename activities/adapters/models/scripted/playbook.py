"""The playbook: the file that holds what a scripted model says, by role, task, attempt and turn.

This module reads the file and checks its shape; `answer_choice` finds the answer to a conversation.
"""

from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, BeforeValidator, Field, JsonValue, model_validator

from activities.ports.model_provider import Stop
from activities.text.foreign_json import is_table
from activities.text.text_files import TextFileError, read_text_file
from activities.yaml_documents.model_reader import parse_document
from activities.yaml_documents.source_places import DocumentError
from activities.yaml_documents.value_wording import brief
from workflows.domain.agent.model_values import Prices, Role, Usage

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
