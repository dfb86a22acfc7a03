"""Role models: the calls of models, by the only workers that hold keys."""

from datetime import timedelta
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from workflows import queues
from workflows.contracts.contract import HEARTBEAT, Contract, retry
from workflows.domain.agent.agent_settings import Effort
from workflows.domain.agent.messages import Message, ToolCall
from workflows.domain.agent.model_values import GivenFacts, ModelFacts, Role, Usage
from workflows.domain.agent.tool_policy import ToolName
from workflows.domain.ids import AgentId, Digest, SessionId
from workflows.domain.session.session_config import ModelName, Routes
from workflows.domain.session.session_state import ResolvedRoutes
from workflows.errors import NEVER_RETRIED, UNKNOWN_OUTCOME


class ResolveModels(BaseModel, frozen=True, extra="forbid"):
    """Look up the routes' models once, so that the session pins their facts and prices."""

    routes: Routes
    catalogue: dict[ModelName, GivenFacts] = Field(default_factory=dict[ModelName, GivenFacts])
    """What the person says about models; the rest is looked up."""


class CallModel(BaseModel, frozen=True, extra="forbid"):
    """One model call: the stored prefix, and only the messages that follow it."""

    session: SessionId
    agent: AgentId
    role: Role
    model: ModelFacts
    turn: int = Field(ge=1)
    prefix: Digest | None
    """The head of the stored conversation; None: `messages` are the whole conversation."""
    messages: tuple[Message, ...] = Field(min_length=1)
    max_output_tokens: int = Field(gt=0)
    effort: Effort | None = None
    """How much the model thinks; None: the provider's default."""
    tools: tuple[ToolName, ...] | None = None
    """The role's tools that the person allows; None: all of them. Others are not offered."""
    longest_wait: timedelta | None = None
    """Counted from the first try; a call that would take longer fails. None: no limit."""


class ModelAnswered(BaseModel, frozen=True, extra="forbid"):
    """One settled answer."""

    kind: Literal["answered"] = "answered"
    text: str
    tool_calls: tuple[ToolCall, ...]
    head: Digest
    """The stored conversation including this answer: the prefix of the next call."""
    stop: Literal["end", "tool_calls", "truncated", "refusal", "pause", "malformed", "unknown"]
    refusal: str = ""
    """Why the provider or the model refused, in its own words; empty if it did not."""
    usage: Usage
    cost_usd: Decimal
    latency: timedelta
    """From sending to the whole answer, without waits for a rate limit."""
    scripted: bool = False
    failures: int = Field(default=0, ge=0)
    """Earlier attempts at this call that the provider failed, without those beyond its rate limit;
    as far as the worker that got the answer knows."""


class PrefixLost(BaseModel, frozen=True, extra="forbid"):
    """The store lost the chain; nothing was sent. Send the whole conversation."""

    kind: Literal["prefix_lost"] = "prefix_lost"


ModelOutcome = Annotated[ModelAnswered | PrefixLost, Field(discriminator="kind")]

RESOLVE_MODELS = Contract[ResolveModels, ResolvedRoutes](
    "models.resolve", ResolveModels, ResolvedRoutes, queues.MODELS, timedelta(minutes=1), retry(5)
)
CALL_MODEL = Contract[CallModel, ModelOutcome](
    "models.call",
    CallModel,
    ModelOutcome,
    queues.MODELS,
    timedelta(minutes=20),
    retry(0, (*NEVER_RETRIED, *UNKNOWN_OUTCOME)),
    HEARTBEAT,
)
