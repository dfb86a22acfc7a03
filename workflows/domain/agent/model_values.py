"""Models: their pinned facts, their prices, and what a call used."""

from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Final, Literal, get_args

from pydantic import BaseModel, Field, StringConstraints

BuiltIn = Literal["anthropic", "openai", "google", "scripted"]
BUILT_IN: Final[tuple[BuiltIn, ...]] = get_args(BuiltIn)
"""The providers that need no configuration."""

Provider = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{0,31}$")]
"""The server of a model: a built-in provider, or the name that a person gave to a server."""


class Role(StrEnum):
    """An agent's role; it chooses the prompt, the tools and the route."""

    PLANNER = "planner"
    DEVELOPER = "developer"
    REVIEWER = "reviewer"


_MOST_USD: Final = 1_000_000
"""Per million tokens; the limit keeps out exponents typed by mistake."""


class Rates(BaseModel, frozen=True, extra="forbid"):
    """USD per million tokens, for prompts of one range of lengths."""

    input_usd: Decimal = Field(ge=0, le=_MOST_USD)
    cached_input_usd: Decimal = Field(ge=0, le=_MOST_USD)
    cache_write_usd: Decimal = Field(ge=0, le=_MOST_USD)
    """The most expensive kind of write: Anthropic's, kept for an hour."""
    cache_write_5m_usd: Decimal | None = Field(default=None, ge=0, le=_MOST_USD)
    """Writes kept for five minutes; None: priced as any write."""
    output_usd: Decimal = Field(ge=0, le=_MOST_USD)


class Prices(Rates, frozen=True, extra="forbid"):
    """What a model costs: its own rates are the highest tier, and the only ones that quotes use."""

    short_prompt: Rates | None = None
    """The rates of a prompt of at most `short_prompt_tokens`; None: the same."""
    short_prompt_tokens: int = Field(default=0, ge=0)


class ModelFacts(BaseModel, frozen=True, extra="forbid"):
    """One model as pinned in a session: resolved once, so replay and prices stay the same."""

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
    """The model knows `apply_patch`, so it is offered the tool."""

    @property
    def name(self) -> str:
        """The model as `provider/model`."""
        return f"{self.provider}/{self.model}"


class GivenPrices(BaseModel, frozen=True, extra="forbid"):
    """A model's prices as a person gives them, in USD per million tokens."""

    input_usd: Decimal = Field(ge=0, le=_MOST_USD)
    cached_input_usd: Decimal | None = Field(default=None, ge=0, le=_MOST_USD)
    """None: the price of other input."""
    output_usd: Decimal = Field(ge=0, le=_MOST_USD)

    def as_prices(self) -> Prices:
        """Return all prices; cache writes cost as much as input."""
        cached = self.input_usd if self.cached_input_usd is None else self.cached_input_usd
        return Prices(
            input_usd=self.input_usd,
            cached_input_usd=cached,
            cache_write_usd=self.input_usd,
            output_usd=self.output_usd,
        )


class GivenFacts(BaseModel, frozen=True, extra="forbid"):
    """A person's facts about a model, which override known ones; None: not given."""

    family: str | None = Field(default=None, min_length=1, max_length=100)
    window_tokens: int | None = Field(default=None, ge=1_000)
    max_output_tokens: int | None = Field(default=None, ge=1)
    prices: GivenPrices | None = None


class Usage(BaseModel, frozen=True, extra="forbid"):
    """Tokens of one call, as counted by the provider or estimated."""

    input_tokens: int = Field(default=0, ge=0)
    """All prompt tokens, cached ones included."""
    cached_input_tokens: int = Field(default=0, ge=0)
    cache_write_tokens: int = Field(default=0, ge=0)
    """Prompt tokens written to the provider's cache, whatever their time to live."""
    cache_write_5m_tokens: int = Field(default=0, ge=0)
    """The part of `cache_write_tokens` that is kept for only five minutes (Anthropic)."""
    output_tokens: int = Field(default=0, ge=0)
    """Reasoning tokens included."""
    is_estimated: bool = False
    """The provider counted no tokens, so they are estimated from the texts; never zero."""
