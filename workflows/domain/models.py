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


class Prices(BaseModel, frozen=True, extra="forbid"):
    """USD per million tokens. For quotes the highest tier of the model counts."""

    input_usd: Decimal = Field(ge=0)
    cached_input_usd: Decimal = Field(ge=0)
    cache_write_usd: Decimal = Field(ge=0)
    output_usd: Decimal = Field(ge=0)


class ModelFacts(BaseModel, frozen=True, extra="forbid"):
    """One model as pinned in a session: resolved once, so replay and prices never move."""

    provider: Provider
    model: str
    """The provider's own model id."""
    family: str
    """Who made the model (`anthropic`, `openai`, `google`, …): a reviewer's differs from the author's."""
    window_tokens: int = Field(gt=0)
    max_output_tokens: int = Field(gt=0)
    prices: Prices | None
    """None: unknown, refused in a budgeted session."""


class Usage(BaseModel, frozen=True, extra="forbid"):
    """Tokens of one call, as the provider counted them."""

    input_tokens: int = Field(default=0, ge=0)
    """All prompt tokens, cached ones included."""
    cached_input_tokens: int = Field(default=0, ge=0)
    cache_write_tokens: int = Field(default=0, ge=0)
    output_tokens: int = Field(default=0, ge=0)
    """Reasoning tokens included."""
