"""Models: their pinned facts, their prices, and what a call used."""

from decimal import Decimal
from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, Field

Provider = Literal["anthropic", "openai", "google", "scripted"]


class Role(StrEnum):
    """Who a model plays; it chooses the prompt, the tools and the route."""

    PLANNER = "planner"
    DEVELOPER = "developer"
    REVIEWER = "reviewer"


class Rates(BaseModel, frozen=True, extra="forbid"):
    """USD per million tokens, for prompts of one range of lengths."""

    input_usd: Decimal = Field(ge=0)
    cached_input_usd: Decimal = Field(ge=0)
    cache_write_usd: Decimal = Field(ge=0)
    """The dearest kind of write: Anthropic's that lives an hour."""
    cache_write_5m_usd: Decimal | None = Field(default=None, ge=0)
    """Writes that live five minutes; None: as any write."""
    output_usd: Decimal = Field(ge=0)


class Prices(Rates, frozen=True, extra="forbid"):
    """What a model costs: its own rates are the highest tier, and the only ones that quotes use."""

    short_prompt: Rates | None = None
    """What a prompt of at most `short_prompt_tokens` costs; None: the same."""
    short_prompt_tokens: int = Field(default=0, ge=0)


class ModelFacts(BaseModel, frozen=True, extra="forbid"):
    """One model as pinned in a session: resolved once, so replay and prices never move."""

    provider: Provider
    model: str
    """The provider's own model id."""
    family: str
    """Who made the model (`anthropic`, `openai`, `google`, …); a reviewer's is not the author's."""
    window_tokens: int = Field(gt=0)
    max_output_tokens: int = Field(gt=0)
    prices: Prices | None
    """None: unknown, refused in a budgeted session."""
    patches: bool = False
    """Fluent in `apply_patch`, so the tool is offered to it."""


class Usage(BaseModel, frozen=True, extra="forbid"):
    """Tokens of one call, as the provider counted them."""

    input_tokens: int = Field(default=0, ge=0)
    """All prompt tokens, cached ones included."""
    cached_input_tokens: int = Field(default=0, ge=0)
    cache_write_tokens: int = Field(default=0, ge=0)
    """Prompt tokens written to the provider's cache, whatever their time to live."""
    cache_write_5m_tokens: int = Field(default=0, ge=0)
    """The part of `cache_write_tokens` that lives five minutes only (Anthropic)."""
    output_tokens: int = Field(default=0, ge=0)
    """Reasoning tokens included."""
