"""What the model layer offers: one call, one answer, and one tree of failures."""

from datetime import timedelta
from decimal import Decimal
from typing import Literal, Protocol

from pydantic import BaseModel, Field, JsonValue

from workflows.domain.agent.agent_settings import Effort
from workflows.domain.agent.messages import AssistantMessage, Message
from workflows.domain.agent.model_values import ModelFacts, Usage

Stop = Literal["end", "tool_calls", "truncated", "refusal", "pause", "malformed", "unknown"]

"""`malformed`: a call that the provider could not read. `unknown`: a whole answer that ended for a
reason that no one knows here; its calls count like any."""


class ToolSchema(BaseModel, frozen=True, extra="forbid"):
    """A tool as the model sees it."""

    name: str
    description: str
    parameters: dict[str, JsonValue]
    """A JSON Schema object."""


class ModelRequest(BaseModel, frozen=True, extra="forbid"):
    """One whole request in neutral form, in cache order: system, tools, messages."""

    model: ModelFacts
    system: str
    tools: tuple[ToolSchema, ...]
    messages: tuple[Message, ...] = Field(min_length=1)
    max_output_tokens: int = Field(gt=0)
    effort: Effort | None = None
    """How much the model thinks; None: not sent."""
    cache_key: str
    """Stable for one agent; never a secret, never a path."""
    timeout: timedelta


class ModelReply(BaseModel, frozen=True, extra="forbid"):
    """One whole answer, with its usage."""

    message: AssistantMessage
    stop: Stop
    refusal: str = ""
    """For a refusal: its category and the words for it, as far as they are given."""
    usage: Usage
    cost_usd: Decimal | None
    """None if no price is known."""
    scripted: bool = False
    """True if a playbook answered instead of a model, even through the simulator; every view says
    so."""


class ModelProvider(Protocol):
    """One dialect."""

    async def call(self, request: ModelRequest) -> ModelReply:
        """Send one request and wait for the whole answer; never retries by itself.

        Raises:
            ModelError: one of its subclasses; each says whether a retry may help and whether the
                provider may have billed the call.
        """
        ...


class ModelError(Exception):
    """The root of the tree.

    ModelError
    ├── RateLimitedError          not billed; retry after `retry_after`
    ├── ProviderUnavailableError  not billed; retry (overload, 5xx, no connection)
    ├── CreditExhaustedError      not billed; no retry: a person pays or the route falls back
    ├── AuthenticationFailedError not billed; no retry: a person fixes the key
    ├── ContextOverflowError      not billed; no retry as it is: compact, then call again
    ├── OutputTooLongError        not billed; no retry as it is: ask for less output
    ├── ModelUnusableError        not billed; no retry: another model, or a person changes something
    ├── PromptBlockedError        not billed; no retry: a filter refuses what was sent
    ├── InvalidRequestError       not billed; no retry: Blue Flame's request was wrong
    └── OutcomeUnknownError       may be billed: cut stream, time-out after sending; charged
    """


class RateLimitedError(ModelError):
    """The provider asks to wait."""

    def __init__(self, message: str, retry_after: timedelta | None) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        """None if the provider named no time, or a useless one (zero, negative, in the past)."""


class ProviderUnavailableError(ModelError):
    """Overloaded or unreachable; the request was not answered."""

    def __init__(self, message: str, retry_after: timedelta | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class CreditExhaustedError(ModelError):
    """A 429 that waiting does not fix: quota or credit is used up."""


class AuthenticationFailedError(ModelError):
    """The key is missing, wrong or not allowed."""


class ContextOverflowError(ModelError):
    """The prompt does not fit the model's window."""


class OutputTooLongError(ModelError):
    """The requested output, alone or beside the prompt, is more than the model allows."""


class ModelUnusableError(ModelError):
    """This model does not exist, or not for this account, or not with what Blue Flame sends."""


class PromptBlockedError(ModelError):
    """A filter of the provider refuses the prompt."""


class InvalidRequestError(ModelError):
    """The provider refused the request's form, or something that only this request holds."""


class OutcomeUnknownError(ModelError):
    """The request was sent and its end was not seen; the provider may have billed it."""
