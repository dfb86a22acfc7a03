"""The neutral conversation, into and from which each provider's dialect is translated.

An assistant message keeps the provider's own form in `provider_raw`; it is replayed verbatim to the
same dialect (signatures must round-trip byte-exact) and dropped when the route changes dialect.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, Field, JsonValue


class ToolCall(BaseModel, frozen=True, extra="forbid"):
    """One tool call that the model asked for."""

    id: str
    """Unique in the conversation; replaced at the boundary if a provider repeats or omits ids."""
    name: str
    arguments: dict[str, JsonValue]
    malformed: str | None = None
    """The raw text of the arguments (cut to 2,000 characters) if they were not a JSON object."""
    fault: str = ""
    """What is wrong with `malformed`, in words for the model."""


class ToolResult(BaseModel, frozen=True, extra="forbid"):
    """What one tool call answered. Every call gets exactly one, in the order of the calls."""

    call_id: str
    name: str
    text: str
    is_error: bool = False


class ProviderRaw(BaseModel, frozen=True, extra="forbid"):
    """A provider's own form of one assistant turn."""

    dialect: Literal["anthropic", "openai", "chat", "gemini", "scripted"]
    payload: JsonValue


class UserMessage(BaseModel, frozen=True, extra="forbid"):
    """Text from the orchestrator or from a person."""

    role: Literal["user"] = "user"
    text: str


class AssistantMessage(BaseModel, frozen=True, extra="forbid"):
    """One answer of the model."""

    role: Literal["assistant"] = "assistant"
    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    provider_raw: ProviderRaw | None = None


class ToolMessage(BaseModel, frozen=True, extra="forbid"):
    """The results of all tool calls of the assistant message before it."""

    role: Literal["tool"] = "tool"
    results: tuple[ToolResult, ...]


Message = Annotated[UserMessage | AssistantMessage | ToolMessage, Field(discriminator="role")]
