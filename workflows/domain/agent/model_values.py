"""Models: their pinned facts, their prices, and what a call used."""

from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Final, Literal, get_args

from pydantic import BaseModel, Field, StringConstraints

BuiltIn = Literal["anthropic", "openai", "google", "scripted"]
BUILT_IN: Final[tuple[BuiltIn, ...]] = get_args(BuiltIn)
"""The providers that need no description."""

Provider = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{0,31}$")]
"""Who serves a model: one that is built in, or the name that a person gave to a server."""


class Role(StrEnum):
    """Who a model plays; it chooses the prompt, the tools and the route."""

    PLANNER = "planner"
    DEVELOPER = "developer"
    REVIEWER = "reviewer"


_MOST_USD: Final = 1_000_000
"""For a million tokens: it keeps out exponents that no one means."""


class Rates(BaseModel, frozen=True, extra="forbid"):
    """USD per million tokens, for prompts of one range of lengths."""

    input_usd: Decimal = Field(ge=0, le=_MOST_USD)
    cached_input_usd: Decimal = Field(ge=0, le=_MOST_USD)
    cache_write_usd: Decimal = Field(ge=0, le=_MOST_USD)
    """The most expensive kind of write: Anthropic's that lives an hour."""
    cache_write_5m_usd: Decimal | None = Field(default=None, ge=0, le=_MOST_USD)
    """Writes that live five minutes; None: as any write."""
    output_usd: Decimal = Field(ge=0, le=_MOST_USD)


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


class GivenPrices(BaseModel, frozen=True, extra="forbid"):
    """What a person says that a model costs, in USD per million tokens."""

    input_usd: Decimal = Field(ge=0, le=_MOST_USD)
    cached_input_usd: Decimal | None = Field(default=None, ge=0, le=_MOST_USD)
    """None: as other input."""
    output_usd: Decimal = Field(ge=0, le=_MOST_USD)

    def as_prices(self) -> Prices:
        """Return them in full; writing to a cache costs what input costs."""
        cached = self.input_usd if self.cached_input_usd is None else self.cached_input_usd
        return Prices(
            input_usd=self.input_usd,
            cached_input_usd=cached,
            cache_write_usd=self.input_usd,
            output_usd=self.output_usd,
        )


class GivenFacts(BaseModel, frozen=True, extra="forbid"):
    """What a person says of a model, over what is known of it; None: nothing."""

    family: str | None = Field(default=None, min_length=1, max_length=100)
    window_tokens: int | None = Field(default=None, ge=1_000)
    max_output_tokens: int | None = Field(default=None, ge=1)
    prices: GivenPrices | None = None


class Usage(BaseModel, frozen=True, extra="forbid"):
    """Tokens of one call, as the provider counted them, or as we had to."""

    input_tokens: int = Field(default=0, ge=0)
    """All prompt tokens, cached ones included."""
    cached_input_tokens: int = Field(default=0, ge=0)
    cache_write_tokens: int = Field(default=0, ge=0)
    """Prompt tokens written to the provider's cache, whatever their time to live."""
    cache_write_5m_tokens: int = Field(default=0, ge=0)
    """The part of `cache_write_tokens` that lives five minutes only (Anthropic)."""
    output_tokens: int = Field(default=0, ge=0)
    """Reasoning tokens included."""
    is_estimated: bool = False
    """The provider counted nothing, so the texts were measured; never zero."""
